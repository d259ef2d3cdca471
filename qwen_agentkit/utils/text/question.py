"""What a question asks for: its terms, the kind of its answer, and whether it asks anything at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from qwen_agentkit.utils.text.folding import fold, has_han
from qwen_agentkit.utils.text.segment import query_weights, segment
from qwen_agentkit.utils.text.stopwords import LIGHT_WORDS, SMALL_TALK
from qwen_agentkit.utils.text.words_zh import cut_words

_NUMBER_WORD = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|hundreds|dozen"
    "|thousand|thousands|million|millions|billion|billions|half|third|quarter|percent|twice|once|several|none"
)
NUMBER = re.compile(rf"\d|\b(?:{_NUMBER_WORD})\b|[一二三四五六七八九十百千万亿两半]", re.IGNORECASE)
DATE = re.compile(
    r"\b1\d{3}s?\b|\b20\d\ds?\b|\d+\s*(?:年|月|日|世纪|点|时)|[一二三四五六七八九十〇零]+(?:年|月|日|世纪)|年代|年间"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|century|centuries"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|before|after|during|until|since|ago)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[A-Z][\w'’-]+")
_PLACE = re.compile(r"\b(?:in|at|near|from|to|on|of|into|outside|around|between)\s+(?:the\s+)?[A-Z]")
_PLACE_ZH = re.compile(r"[省市县区州国村镇岛山路街港城洲湾河]|位于|坐落")
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order to|reason|therefore|as a result|caused?|thus)\b"
    r"|因为|由于|因此|所以|为了|因而|导致|原因",
    re.IGNORECASE,
)

# The kind of answer, by the words that ask for it; the first that matches counts.
_ASKS_FOR = (
    ("date", r"\b(?:when|how long ago|(?:what|which) (?:year|date|day|month|century|time|decade|era|period)s?)\b"),
    (
        "number",
        r"\b(?:how (?:many|much|long|far|old|tall|big|large|high|deep|often|fast|wide|heavy|hot|cold)"
        r"|what (?:percent\w*|number|amount|age|price|cost|population|size|temperature|distance|score|fraction)"
        r"|what (?:is|was) the (?:\w+ )?"
        r"(?:population|number|price|cost|score|rate|age|length|height|weight|size|capacity))\b",
    ),
    (
        "name",
        r"\b(?:who|whom|whose|(?:which|what) (?:person|player|president|king|queen|company|team|man|woman|author))\b",
    ),
    ("place", r"\b(?:where|(?:which|what) (?:city|country|state|place|location|region|town|area|river|continent))\b"),
    ("reason", r"\b(?:why|what (?:is|was) the reason|how come)\b"),
    ("number", r"\b(?:cost|weigh)\W*$"),  # "what does it cost?"
    ("date", r"何时|什么时候|什么时间|哪一?[年天月日]|几[年月日号]|时间是|日期|哪个(?:世纪|年代|时期|朝代)|年份"),
    (
        "number",
        r"[有是为]?(?:多少|几[个名位次人种座条岁年所层届部])|期?[有是为]?多[大长高远久重深宽快]|百分之几",
    ),
    ("name", r"谁|哪位|什么人|哪[个些]人|何人"),
    ("place", r"哪里|哪儿|何处|什么地方|哪[个些座](?:国家|城市|地方|省|地区|市|州|县)|在哪|位于"),
    ("reason", r"为什么|为何|原因|怎么会"),
)
_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _ASKS_FOR)
# What asks for an amount of money, and what such an amount goes by.
_PRICE = re.compile(
    r"\b(?:cost|costs|price|prices|priced|fee|fees|how much (?:is|are|was|were|does|do|did|will))\b"
    r"|多少钱|几块钱|价格|价钱|售价|费用",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[€$£¥￥]\s?\d|\d\s?(?:[€$£¥￥元块]|(?:eur|usd|euros?|dollars?|cents?|yuan|rmb|pounds?)\b)|^\s*\|.*\d",
    re.IGNORECASE,
)
_MONEY = "price cost fee euro dollar yuan eur usd rmb 价格 价钱 售价 费用 元 块 钱"
# The number of a list's item says nothing.
_ITEM = re.compile(r"\s*[(（]?\d{1,3}[.)、）]\s+")
_UNIT = re.compile(r"\bhow (?:many|much)\s+(?:\w+\s+)?(\w+)|(?:多少|几)(\w{1,2})", re.IGNORECASE)
_DEFINES = re.compile(
    r"^\W*(?:what|who)(?:'s|\s+(?:is|are|was|were))\s+(?:an?\s+|the\s+)?(?P<en>[^?]{2,40}?)\W*$"
    r"|^\W*什么(?:是|叫做?)(?P<zh>[^？?]{2,20}?)\W*$|^\W*(?P<zh2>[^？?，]{2,20}?)(?:是什么|是谁|指的是什么|是指什么)\W*$",
    re.IGNORECASE,
)


# What a word weighs that belongs to the asking ("how *long*") or says little ("must").
_LIGHT = 0.3


@lru_cache(maxsize=1)
def _light_terms() -> frozenset[str]:
    return frozenset(segment(" ".join(LIGHT_WORDS)))


@dataclass
class Question:
    """A question, taken apart.

    Args:
        text: The question, folded.
        terms: Its index terms with their weights.
        kind: What is asked for: `date`, `number`, `name`, `place`, `reason`, or None.
        units: Terms of what is counted ("how many *months*").
        defined: What is to be explained ("what is *a KX-41*"), in lower case; None when something else is asked.
        names: Words in capitals and numbers: what the question is surely about.
        pairs: Neighbouring terms.
    """

    text: str
    terms: dict[str, float]
    kind: str | None
    units: list[str] = field(default_factory=list)
    defined: str | None = None
    names: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)


def read_question(text: str) -> Question:
    """Takes a question apart."""
    folded = fold(text).strip()
    terms = query_weights(text)
    if has_han(folded):
        straddling = _straddling_pairs(folded)
        terms = {term: weight * _chinese_weight(term, straddling) for term, weight in terms.items()}
    asking = next(((kind, match) for kind, pattern in _KINDS if (match := pattern.search(folded))), None)
    kind = asking[0] if asking else None
    light = _light_terms() if asking is None else _light_terms() | _asking_terms(folded, *asking[1].span())
    terms = {term: weight * _LIGHT if term in light else weight for term, weight in terms.items()}
    defined = _DEFINES.search(folded)
    ordered = list(terms)
    return Question(
        text=folded,
        terms=terms,
        kind=kind,
        units=_units(folded) if kind == "number" else [],
        defined=next((part.strip().lower() for part in defined.groups() if part), None) if defined else None,
        names=_names(folded, terms),
        pairs=list(pairwise(ordered)),
    )


def _units(folded: str) -> list[str]:
    """The terms of what a question for a number counts."""
    if _PRICE.search(folded):
        return _money()
    unit = _UNIT.search(folded)
    return segment(unit.group(1) or unit.group(2)) if unit else []


@lru_cache(maxsize=1)
def _money() -> list[str]:
    return segment(_MONEY)


def _asking_terms(folded: str, start: int, end: int) -> set[str]:
    """The terms of the words that ask, and in Chinese the pair over the border to the word before ("保修|期有多长")."""
    terms = set(segment(folded[start:end]))
    if start and has_han(folded[start - 1 : start + 1]):
        terms.add(folded[start - 1 : start + 1])
    return terms


# A character alone says less than a pair, and a pair that is the end of one word and the beginning of the next is
# chance: another wording of the same question would not have it.
_SINGLE = 0.6
_STRADDLING = 0.3


def _chinese_weight(term: str, straddling: Collection[str]) -> float:
    if term in straddling:
        return _STRADDLING
    return _SINGLE if len(term) == 1 and not term.isascii() else 1.0


def _straddling_pairs(folded: str) -> set[str]:
    """Pairs of characters over the border of two words, as jieba sees them, that are in no word themselves."""
    words = cut_words(folded)
    across = {one[-1] + other[0] for one, other in pairwise(words)}
    within = {word[place : place + 2] for word in words for place in range(len(word) - 1)}
    return across - within


def _names(folded: str, terms: Collection[str]) -> list[str]:
    words = folded.split()
    # A capital at the front of the question says nothing.
    named = [
        word for place, word in enumerate(words) if any(c.isdigit() for c in word) or (place and word[:1].isupper())
    ]
    return [term for term in dict.fromkeys(segment(" ".join(named))) if term in terms]


def is_small_talk(text: str) -> bool:
    """Whether the whole text is a greeting, thanks or the like. The empty text is not."""
    words = re.sub(r"[^\w]+", " ", fold(text).lower(), flags=re.UNICODE).split()
    return bool(words) and (all(word in SMALL_TALK for word in words) or "".join(words) in SMALL_TALK)


def asks_nothing(text: str) -> bool:
    """Whether `text` is small talk, a sign, or empty: no document answers it."""
    return is_small_talk(text) or not query_weights(text)


def fits(question: Question, sentence: str) -> bool:
    """Whether a sentence holds something of the kind the question asks for and does not itself name."""
    kind = question.kind
    if kind == "number" and question.units == _money() and not _AMOUNT.search(sentence):
        return False
    if kind == "number":
        return any(
            match.group() not in question.text
            for match in re.finditer(r"\d[\d.,]*|[^\W\d]+", _ITEM.sub("", sentence, count=1))
            if NUMBER.search(match.group())
        )
    if kind == "date":
        return any(match.group() not in question.text for match in DATE.finditer(sentence))
    if kind == "name":
        if has_han(sentence):
            return False
        asked = question.text.lower()
        names = list(_NAME.finditer(sentence))
        return any(match.start() > 0 and match.group().lower() not in asked for match in names) or len(names) > 1
    if kind == "place":
        return bool(_PLACE_ZH.search(sentence)) if has_han(sentence) else bool(_PLACE.search(sentence))
    if kind == "reason":
        return bool(_REASON.search(sentence))
    return False


def counts_unit(question: Question, sentence: str, sentence_terms: list[str], above: Collection[str]) -> bool:
    """Whether a number stands right before what the question counts ("27 months"), or in a table's row with it above.

    Args:
        question: The question.
        sentence: The sentence or row.
        sentence_terms: Its terms.
        above: The terms of what is over it, as the head of its table.
    """
    if sentence.startswith("|") and not set(question.units).isdisjoint(above) and fits(question, sentence):
        return True
    return any(
        term in question.units and any(NUMBER.search(before) for before in sentence_terms[max(0, place - 3) : place])
        for place, term in enumerate(sentence_terms)
    )


def defines(question: Question, sentence: str) -> bool:
    """Whether a sentence begins by saying what the asked thing is."""
    if not question.defined:
        return False
    head = fold(sentence).lower()[: len(question.defined) + 60]
    place = head.find(question.defined)
    if place < 0 or place > 12:
        return False
    after = head[place + len(question.defined) :]
    return bool(re.match(r"[^,.;。]{0,40}?(?:\b(?:is|are|was|were|means|refers)\b|是|指|为|，|:)", after))


def nearest_terms(wanted: Iterable[str], held: Collection[str]) -> dict[str, str]:
    """For each Latin word of `wanted` that `held` lacks, the word there that it is probably a misspelling of.

    One letter added, left out, changed or swapped in a word of five to seven letters, two in a longer one; the first
    letter must be right.
    """
    found: dict[str, str] = {}
    by_letter: dict[str, list[str]] | None = None
    for term in wanted:
        if term in held or len(term) < 5 or not (term.isascii() and term.isalpha()):
            continue
        if by_letter is None:
            by_letter = {}
            for other in held:
                if len(other) > 3 and other.isascii() and other.isalpha():
                    by_letter.setdefault(other[0], []).append(other)
        most = 1 if len(term) < 8 else 2
        best = None
        for other in by_letter.get(term[0], ()):
            if abs(len(other) - len(term)) <= most:
                distance = edit_distance(term, other, most)
                if distance <= most and (best is None or distance < best[0]):
                    best = (distance, other)
        if best is not None:
            found[term] = best[1]
    return found


def edit_distance(one: str, other: str, most: int) -> int:
    """Letters to add, leave out, change or swap to turn `one` into `other`; `most` + 1 when it is more than `most`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        current = [i]
        for j, another in enumerate(other, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, row = row, current
    return row[-1] if row[-1] <= most else most + 1
