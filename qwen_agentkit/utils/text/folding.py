"""Folds spellings of the same text into one, for finding. What a reader is shown is never folded."""

from __future__ import annotations

import re
import unicodedata

from qwen_agentkit.utils.text.hanzi import SIMPLIFIED

# Scripts written without spaces between words: they are indexed by characters and pairs of characters.
# Han with its extensions and radicals, kana, bopomofo, hangul, Thai, Lao, Myanmar, Khmer.
UNSPACED = (
    "\u0e00-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1780-\u17d3\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_HAS_HAN = re.compile(f"[{HAN}]")

_SIGNS = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4`"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015\u2500"), " "),
    # Invisible: soft hyphen, zero-width space and joiners, marks of direction, byte order mark.
    **dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)], None),
    # Arabic vowel signs and the stretching sign, Hebrew points.
    **dict.fromkeys([*range(0x064B, 0x0660), 0x0670, 0x0640, *range(0x0591, 0x05BE), *range(0x05C1, 0x05C3)], None),
    **dict.fromkeys(map(ord, "أإآٱ"), "ا"),
    ord("ى"): "ي",
    ord("ё"): "е",
    ord("Ё"): "Е",
}


def _accents() -> dict[int, str]:
    """Latin and Greek letters with accents, each to its letter without."""
    table = {}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        base = "".join(c for c in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(c))
        if base and base != chr(code):
            table[code] = base
    for letters, plain in (
        ("øØ", "oO"),
        ("łŁ", "lL"),
        ("đĐ", "dD"),
        ("ıİ", "iI"),
    ):
        table.update(zip(map(ord, letters), plain, strict=True))
    table.update({ord("ß"): "ss", ord("æ"): "ae", ord("Æ"): "AE", ord("œ"): "oe", ord("Œ"): "OE", ord("ς"): "σ"})
    return table


_TABLE: dict[int, str | None] | None = None


def _table() -> dict[int, str | None]:
    global _TABLE
    if _TABLE is None:
        _TABLE = {**_accents(), **{ord(old): new for old, new in SIMPLIFIED.items()}, **_SIGNS}
    return _TABLE


def fold(text: str) -> str:
    """`text` with one spelling for what means the same: full-width signs, ligatures, accents, dashes, apostrophes,
    invisible characters, traditional Chinese. Case stays, since it tells names from words.

    The result may be shorter or longer than `text`; where places matter, use `fold_in_place`.
    """
    if text.isascii():
        return text.replace("`", "'") if "`" in text else text
    return unicodedata.normalize("NFKC", text).translate(_table())


def fold_in_place(text: str) -> str:
    """`text` folded and in lower case, character by character, so that every place in it stays the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_one, text))


class _Folded(dict):
    """Remembers how each single character folds; a character that would vanish or grow keeps its place."""

    def __missing__(self, character: str) -> str:
        folded = fold(character).lower()
        self[character] = value = folded if len(folded) == 1 else character.lower()[:1] or character
        return value


_one = _Folded().__getitem__


def has_han(text: str) -> bool:
    """Whether a Chinese character stands in `text`."""
    return not text.isascii() and _HAS_HAN.search(text) is not None
