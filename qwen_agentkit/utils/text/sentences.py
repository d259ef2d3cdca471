"""Cuts text into sentences, in Latin and Chinese punctuation, by places in the text."""

from __future__ import annotations

import re

from qwen_agentkit.utils.text.folding import UNSPACED

_CLOSERS = "[\"'”’」』】）)\\]》〉»]*(?:\\[\\d{1,3}\\])*"
_BREAK = re.compile(
    # A blank line, and a line that begins an item, a heading or a row of a table.
    r"(?P<paragraph>\n[^\S\n]*\n\s*)"
    r"|(?P<line>\n(?=[^\S\n]*(?:[-*+•▪●◦‣·]\s|\#{1,6}\s|\||\(?\d{1,3}[.)、]\s*\S|[（(][一二三四五六七八九十\d]+[)）]|[A-Za-z][.)]\s)))"
    rf"|(?P<wide>[。！？；｡]+[。！？；!?…]*{_CLOSERS})"
    rf"|(?P<sharp>[!?…]+{_CLOSERS}(?=\s|$|[{UNSPACED}]))"
    rf"|(?P<dot>\.+{_CLOSERS}(?=\s|$|[{UNSPACED}]))"
)
# A line that stands for itself: a heading or a row of a table ends with its line.
_OWN_LINE = re.compile(r"[^\S\n]*(?:#{1,6}\s|\|)")
_WORD_BEFORE = re.compile(r"[\w.&'’-]+$")
_NEXT_SIGN = re.compile(r"\s*[\"'“‘(\[«]*(\S)")
_ABBREVIATED = """
    mr mrs ms dr prof rev hon st sr jr gen col capt lt sgt rep sen gov pres messrs mme mlle
    e.g i.e eg ie cf viz vs v al etc approx ca est incl excl resp
    no nos vol vols p pp par para sec ch chap fig figs tab eq eqs ref refs app art ed eds
    inc ltd co corp dept univ bros
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur fri sat sun
    ft mt sq min max tel ext
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
# Abbreviations that also end sentences: a capital after them starts a new one.
_MAY_END = frozenset({"etc", "al", "inc", "ltd", "co", "corp", "jr", "sr", "min", "max", "ft", "no", "app", "art"})


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of `text` as (start, end), in order, without the blanks around them.

    A sentence ends at ``。！？；``, at ``! ?`` and ``.`` before a blank, at a blank line, and where the next line
    begins an item, a heading or a table row. It does not end within 3.14, an address, e.g., an initial, or an
    abbreviation; a single line break is a wrapped line.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() < start:
            continue
        kind = match.lastgroup
        if kind == "dot" and not _dot_ends(text, start, match):
            continue
        if kind == "sharp" and _goes_on(text, match.end()):
            continue
        end = match.start() if kind in ("paragraph", "line") else match.end()
        _append(spans, text, start, end)
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return
    newline = text.find("\n", start, end)
    if newline > 0 and _OWN_LINE.match(text, start):
        _append(spans, text, start, newline)
        _append(spans, text, newline, end)
    else:
        spans.append((start, end))


def _goes_on(text: str, place: int) -> bool:
    """Whether what follows begins with a small letter, so that the sentence is not over."""
    following = _NEXT_SIGN.match(text, place)
    return following is not None and following.group(1).islower() and text[place : place + 1] != "\n"


def _dot_ends(text: str, start: int, match: re.Match[str]) -> bool:
    following = _NEXT_SIGN.match(text, match.end())
    if following is None:
        return True
    sign = following.group(1)
    if sign.islower() or sign in ",;:)":
        return False
    before = _WORD_BEFORE.search(text, max(start, match.start() - 40), match.start())
    if before is None:
        return True
    word = before.group().lower()
    if len(word) == 1 and before.group().isupper():
        return bool(text[start : before.start()].strip()) and not text[before.start() - 1].isspace()  # J. Smith
    if word.isdigit() and not text[start : before.start()].strip():
        return False  # the number of an item: "3. Open the lid"
    if "." in word and all(len(piece) == 1 for piece in word.split(".")):
        return sign.isupper() and word not in ("e.g", "i.e") and text[match.end() : match.end() + 1] == "\n"
    if word in _ABBREVIATIONS:
        return word in _MAY_END and sign.isupper()
    return True
