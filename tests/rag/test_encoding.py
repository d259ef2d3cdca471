import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.rag.encoding import decode, python_name

SAMPLES = {
    "french": ("Le garçon a déjà mangé, très prêt à partir. L'été dernier.", "cp1252 mac-roman cp850 iso8859-15"),
    "french, three words": ("très déjà prêt", "cp1252 cp850"),
    "german": ("Größe und Maße der Tür für Männer, schön übersichtlich", "cp1252 mac-roman cp850"),
    "spanish": ("¿Dónde está el niño? Mañana será otro día", "cp1252"),
    "swedish": ("Åtta små grisar på väg över ån för att äta", "cp1252"),
    "polish": ("Zażółć gęślą jaźń. Proszę się zgłosić do biura w ciągu dwóch dni", "cp1250 iso8859-2 cp852"),
    "czech": ("Příliš žluťoučký kůň úpěl ďábelské ódy. Může to být také možné", "cp1250 iso8859-2"),
    "hungarian": ("Árvíztűrő tükörfúrógép, a következő évben több időt kérünk", "cp1250 iso8859-2"),
    "russian": ("Привет, мир! Отчёт о продажах готов.", "cp1251 koi8-r cp866 iso8859-5 mac-cyrillic"),
    "ukrainian": ("Привіт, як справи? Україна має багато красивих міст", "cp1251 koi8-u"),
    "greek": ("Η Ελλάδα είναι μια όμορφη χώρα με πολλά νησιά", "cp1253 iso8859-7"),
    "turkish": ("İstanbul'da yağmur yağıyor, çok güzel bir gün için şemsiye", "cp1254"),
    "hebrew": ("שלום עולם, מה שלומך היום?", "cp1255"),
    "arabic": ("مرحبا بالعالم، كيف حالك اليوم؟", "cp1256"),
    "thai": ("สวัสดีชาวโลก วันนี้อากาศดีมาก", "cp874"),
    "lithuanian": ("Labas rytas, ačiū už pagalbą; šiandien gražūs žiedai", "cp1257"),
    "chinese": ("采购管理合同金额伍万元整，请于周五前提交报告。", "gb18030 gbk utf-16-le utf-16-be"),
    "chinese, four characters": ("放假通知", "gb18030"),
    "traditional chinese": ("臺灣的軟體專案管理報告，請於週五前提交會議紀錄。", "big5 gb18030 utf-16-le"),
    "japanese": ("給与に関する通知。今日は天気がいいですから、散歩しましょう。", "cp932 euc_jp iso2022_jp utf-16-le"),
    "korean": ("안녕하세요, 오늘은 날씨가 좋습니다. 회의록을 제출해 주세요.", "cp949 utf-16-le"),
    "quotation marks": ("“Smart quotes” and a dash — it’s fine", "cp1252"),
    "currency": ("Price: 5 € or 4 £", "cp1252"),
}
CASES = [(name, encoding) for name, (_, encodings) in SAMPLES.items() for encoding in encodings.split()]


@pytest.mark.parametrize(("name", "encoding"), CASES)
def test_text_in_the_encodings_of_its_language_is_read(name, encoding):
    text = SAMPLES[name][0]
    assert decode(text.encode(encoding)).text == text
    longer = (text + "\r\n") * 20
    assert decode(longer.encode(encoding)).text == longer


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_and_is_no_part_of_the_text(encoding):
    assert decode("Zoë,李雷".encode(encoding), declared="cp1252").text == "Zoë,李雷"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf8_is_always_read_as_utf8(text):
    assert decode((text + " ABC 123 äöü 中文").encode(), declared="cp1252").text.startswith(text[:1].lstrip("\ufeff"))


@given(st.binary(max_size=400))
def test_any_bytes_are_decoded_and_replacement_characters_are_announced(data):
    decoded = decode(data)
    if "\ufffd" in decoded.text and decoded.encoding.startswith("utf-8"):
        assert decoded.warning or "\ufffd".encode() in data


def test_the_last_line_counts_as_much_as_the_first():
    data = b"plain;line\n" * 50_000 + "crème;brûlée\n".encode("cp1252")
    assert decode(data).text.endswith("crème;brûlée\n")


def test_megabytes_without_a_line_break_are_decoded_at_once():
    data = b"x" * 3_000_000 + "très déjà".encode("cp1252") + b"y" * 3_000_000
    started = time.process_time()
    assert "très déjà" in decode(data).text
    assert time.process_time() - started < 2


def test_a_declared_encoding_is_believed_unless_the_bytes_say_otherwise():
    assert decode("Zażółć".encode("iso8859-2"), declared="ISO-8859-2").text == "Zażółć"
    assert decode("放假通知".encode("gb18030"), declared="gb2312").encoding == "gb18030"
    assert decode("放假通知".encode(), declared="gb2312").text == "放假通知"
    assert decode("très".encode("cp1252"), declared="utf-8").text == "très"
    assert decode("très".encode("cp1252"), declared="no-such-thing").text == "très"
    assert decode(b"~{7E<Y~}", declared="hz-gb-2312").text == "放假"


def test_a_cut_utf8_file_stays_utf8_and_says_what_is_missing():
    data = "Приёмка 放假通知 отчёт".encode()[:-1]
    decoded = decode(data)
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith("Приёмка 放假通知")
    assert "1 places" in (decoded.warning or "")


def test_names_are_understood_as_browsers_do():
    assert python_name("ISO-8859-1") == "cp1252"
    assert python_name(" x-sjis ") == "cp932"
    assert python_name("'windows-1251'") == "cp1251"
    assert python_name("base64") is None
    assert python_name(None) is None
