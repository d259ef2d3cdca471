"""How likely the characters are that an encoding gives: what `rag.encoding` weighs its candidates by.

Each language is the string of its non-ASCII letters, the most frequent first; the n-th of them is given a share that
falls as 1/n. For Chinese, Japanese and Korean the commonest characters are listed, and the level of the character
in its national standard (GB 2312, Big5, JIS X 0208, KS X 1001) grades the rest.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

_CYRILLIC_RU = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_CYRILLIC_UK = "оанітвкреисмлудпзяьбгчйхїжюцщєфшґ"
_CYRILLIC_BG = "аоиетнрсвлкдпмузяъбгчйщцжхшфюь"
_GREEK = "αοιετσνηυρπκμλςωδγίόάέχθήύβώφξζψϊΐϋ"
_FRENCH = "éàèêçôâîûùëïœüæÿñ"
_GERMAN = "äüößéàè"
_SPANISH = "óíáéñúü¿¡"
_PORTUGUESE = "ãáçéõíóêúâôàªºü"
_ITALIAN = "àèìùòéîçôâ°"
_SWEDISH = "äåöéüàè"
_DANISH = "øåæéöüóôòê"
_FINNISH = "äöåšžé"
_ICELANDIC = "áíéþóðúöæý"
_CATALAN = "àéèíòóçúïü·"
_DUTCH = "ëéïöèüêçóá"
_POLISH = "ąęłóżśćńź"
_CZECH = "íáéěřýžčšůúňťďó"
_SLOVAK = "áíéčžýšúôňľťďäóĺŕ"
_HUNGARIAN = "áéőöíóüűú"
_ROMANIAN = "ăîâşţéșț"
_CROATIAN = "šćčžđ"
_TURKISH = "ıişğüçöâîû"
_LITHUANIAN = "ėųšžįąūčę"
_LATVIAN = "āīšēūņļžģķčō"
_ESTONIAN = "äõüöšž"
_HEBREW = "יוהלאתרבשמנעחדקםכגפטסןזצךץף"
_ARABIC = "الينمرتوهبعدسفكقحجةصشطخىزضأذثإغؤءئظآ"
_PERSIAN = "اینردهموتبسشلکزفخقعجگپحصآطچضغثژظذئ"
_THAI = "านรอก่้เงยลมวดทีสั์ตปะบคิหแจพชใขไโุูาำผ็ธศณึืญษซฐฟถภฉฝ๊๋ฎฏฌฆฑฒฮฬฤๆฯ"
_VIETNAMESE = "\u0301\u0300\u0323đưôâêơăàáãạảéèíóòúù"
_WESTERN = (_FRENCH, _GERMAN, _SPANISH, _PORTUGUESE, _ITALIAN, _SWEDISH, _DANISH, _ICELANDIC, _CATALAN, _DUTCH)
_CENTRAL = (_POLISH, _CZECH, _SLOVAK, _HUNGARIAN, _ROMANIAN, _CROATIAN)

# One-byte encodings with the languages written in them; of equals the first wins.
BYTE_LANGUAGES: dict[str, tuple[str, ...]] = {
    "cp1252": (*_WESTERN, _FINNISH),
    "cp1250": _CENTRAL,
    "cp1251": (_CYRILLIC_RU, _CYRILLIC_UK, _CYRILLIC_BG),
    "cp1253": (_GREEK,),
    "cp1254": (_TURKISH,),
    "cp1255": (_HEBREW,),
    "cp1256": (_ARABIC, _PERSIAN),
    "cp1257": (_LITHUANIAN, _LATVIAN, _ESTONIAN),
    "cp1258": (_VIETNAMESE,),
    "cp874": (_THAI,),
    "iso8859-15": (_FRENCH, _FINNISH),
    "iso8859-2": _CENTRAL,
    "iso8859-5": (_CYRILLIC_RU, _CYRILLIC_BG),
    "iso8859-7": (_GREEK,),
    "koi8-r": (_CYRILLIC_RU,),
    "koi8-u": (_CYRILLIC_UK,),
    "cp866": (_CYRILLIC_RU,),
    "mac-cyrillic": (_CYRILLIC_RU,),
    "mac-roman": _WESTERN,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "cp862": (_HEBREW,),
}

_COMMON_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成"
    "方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工"
    "使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表"
    "化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结"
    "反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难"
    "且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运百六七八九零购价号"
    "编单位姓名李陈刘杨黄赵吴周徐孙胡朱林何郭罗您请谢首页网站链接时间地址电话用户系统软件项目合同公司客户销售财务费用金额"
)
_COMMON_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成"
    "方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工"
    "使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表"
    "化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結"
    "反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難"
    "且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運百六七八九零購價號"
    "編單位姓名李陳劉楊黃趙吳周徐孫胡朱林何郭羅您請謝首頁網站連結時間地址電話用戶系統軟體專案合約公司客戶銷售財務費用金額臺灣"
)
_COMMON_KANJI = (
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語"
    "土木聞食車何南万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野"
    "以思家世多正安院心界教文元重近考画海売知集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽起着店病質"
    "待試族銀早映親験英医仕去味写字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服夕借曜飲肉貸堂鳥飯勉冬昼茶"
    "弟牛魚兄犬妹姉漢報告資部課様願致申込株式経済表示設定確認登録情報管理番号"
)
_COMMON_HANGUL = (
    "이다는에의을가고지하기사한로도대인어자리시은서그나정아를라일수스부보전해만상원제주과들있것장공신성여관동국조선오구비경금"
    "년거중유세소생안문무러면미물용방없모개연회분화발차계양바실교드우당배알했내영히위까마두치트와으된할되입니습건던든때말더못"
    "본물식명업체행결간민현산점목요등력합설당통학진품질심월화수목금토일작팀김박최음날집같각터래크레프타르"
)

# Mean information of one character, in bits, by how common it is.
_COMMON, _LEVEL_1, _LEVEL_2, _RARE = -8.5, -12.5, -16.0, -19.0
_KANA, _PUNCTUATION, _FOREIGN, _CONTROL = -6.5, -6.5, -12.0, -20.0
_UPPER_CASE, _CASE_BREAK, _SELDOM = -3.0, -6.0, -6.0
_LETTER, _CURRENCY = -6.5, -4.0
_ASCII_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_SHARED_MARKS = frozenset("“”‘’–—…«»„‚‹›•·©®™°§€£×\u00a0\u00ad№")
_EAST_ASIAN_MARKS = frozenset(
    "　、。，．：；！？（）「」『』【】《》〈〉“”‘’—…·～％＋－／＝＊＃＆１２３４５６７８９０ー々〇・￥℃"
)


class ByteScorer:
    """Log likelihoods (base 2) of the 256 bytes of a one-byte encoding, one row a language."""

    def __init__(self, encoding: str, languages: tuple[str, ...]) -> None:
        self.characters = [_character(byte, encoding) for byte in range(256)]
        self.rows = [
            [_byte_score(character, _shares(language)) for character in self.characters] for language in languages
        ]
        self.lower = frozenset(byte for byte in range(256) if self.characters[byte].islower())
        self.upper = frozenset(byte for byte in range(128, 256) if self.characters[byte].isupper())
        self.high_letters = frozenset(byte for byte in range(128, 256) if self.characters[byte].isalpha())
        self.mixes_with_ascii = languages[0][0] < "\u0370"  # Latin letters and combining marks
        self.prior = 0.0 if encoding.startswith(("cp125", "cp874", "koi8")) else _SELDOM

    @staticmethod
    @cache
    def of(encoding: str) -> ByteScorer:
        """The scorer of an encoding named in `BYTE_LANGUAGES`."""
        return ByteScorer(encoding, BYTE_LANGUAGES[encoding])

    def score(self, sample: bytes) -> float:
        """Log likelihood of the non-ASCII bytes of a sample, in the language that fits best."""
        present = set(sample)
        counts = [(byte, sample.count(byte)) for byte in present if byte >= 128]
        total = max(sum(row[byte] * count for byte, count in counts) for row in self.rows) + self.prior
        total += sum(sample.count(byte) for byte in present if byte < 32 and byte not in b"\t\n\r\f\x1b") * _CONTROL
        if not self.lower & present:  # all in capitals: a headline
            total -= sum(count for byte, count in counts if byte in self.upper) * (_UPPER_CASE + 0.5)
        pairs = pairwise(sample)
        if self.mixes_with_ascii:
            breaks = sum(1 for left, right in pairs if right in self.upper and left in self.lower)
        else:
            breaks = sum(
                1
                for left, right in pairs
                if (
                    right in self.high_letters
                    and (left in self.lower if right in self.upper else left in _ASCII_LETTERS)
                )
                or (right in _ASCII_LETTERS and left in self.high_letters)
            )
        return total + breaks * _CASE_BREAK


def pair_score(text: str, encoding: str) -> float:
    """Log likelihood (base 2) of the non-ASCII characters of a text decoded by an East Asian or UTF-16 encoding."""
    level = {"gb18030": _chinese, "big5hkscs": _taiwanese, "cp949": _korean, "cp932": _japanese, "euc_jp": _japanese}
    raters = [level[encoding]] if encoding in level else [_chinese, _japanese, _korean, _taiwanese, _alphabetic]
    counts: dict[str, int] = {}
    for character in text:
        if character > "\x7f" or character < " ":
            counts[character] = counts.get(character, 0) + 1
    return max(sum(rate(character) * count for character, count in counts.items()) for rate in raters)


def _character(byte: int, encoding: str) -> str:
    # Bytes that a code page leaves undefined are C1 controls to browsers.
    return bytes([byte]).decode(encoding, errors="ignore") or chr(byte)


@cache
def _shares(language: str) -> dict[str, float]:
    total = sum(1 / rank for rank in range(1, len(language) + 1))
    scores = {letter: -math.log2(rank * total) for rank, letter in enumerate(language, 1)}
    for letter in language:
        upper = letter.upper()
        if len(upper) == 1:
            scores.setdefault(upper, scores[letter] + _UPPER_CASE)
    return scores


def _byte_score(character: str, shares: dict[str, float]) -> float:
    if character in shares:
        return shares[character]
    if character in "€£":
        return _CURRENCY
    if character in _SHARED_MARKS:
        return _PUNCTUATION
    return _CONTROL if character < "\xa0" else _FOREIGN


def _mark(character: str) -> float | None:
    if character in "\t\n\r":
        return 0.0
    if character in _EAST_ASIAN_MARKS:
        return _PUNCTUATION
    if character < "\xa0" or "\ue000" <= character <= "\uf8ff" or character in "\ufffd\ufffe\uffff":
        return _CONTROL
    return None


def _level(character: str, standard: str, first_level_ends: int) -> float:
    try:
        lead = character.encode(standard)[0]
    except UnicodeEncodeError:
        return _RARE
    return _LEVEL_1 if lead < first_level_ends else _LEVEL_2


@cache
def _chinese(character: str) -> float:
    if (mark := _mark(character)) is not None:
        return mark
    if character in _common("simplified"):
        return _COMMON
    return _level(character, "gb2312", 0xD8) if "\u4e00" <= character <= "\u9fff" else _LEVEL_2


@cache
def _taiwanese(character: str) -> float:
    if (mark := _mark(character)) is not None:
        return mark
    if character in _common("traditional"):
        return _COMMON
    return _level(character, "big5", 0xC9) if "\u4e00" <= character <= "\u9fff" else _LEVEL_2


@cache
def _japanese(character: str) -> float:
    if (mark := _mark(character)) is not None:
        return mark
    if "\u3040" <= character <= "\u30ff":
        return _KANA
    if "\uff61" <= character <= "\uff9f":
        return _FOREIGN
    if character in _common("kanji"):
        return _COMMON
    return _level(character, "shift_jis", 0x98) if "\u4e00" <= character <= "\u9fff" else _LEVEL_2


@cache
def _korean(character: str) -> float:
    if (mark := _mark(character)) is not None:
        return mark
    if character in _common("hangul"):
        return _COMMON + 1
    if "\uac00" <= character <= "\ud7a3":
        return _level(character, "euc_kr", 0xC9)
    return _LEVEL_2


@cache
def _alphabetic(character: str) -> float:
    if (mark := _mark(character)) is not None:
        return mark
    return _LETTER if character < "\u0e80" and character.isalpha() else _LEVEL_2


@cache
def _common(kind: str) -> frozenset[str]:
    lists = {
        "simplified": _COMMON_SIMPLIFIED,
        "traditional": _COMMON_TRADITIONAL,
        "kanji": _COMMON_KANJI,
        "hangul": _COMMON_HANGUL,
    }
    return frozenset(lists[kind])
