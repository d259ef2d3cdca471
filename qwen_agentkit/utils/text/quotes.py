"""Finds where a quote stands in a text, though spaces, line breaks, punctuation or letter case differ."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from qwen_agentkit.utils.text.folding import fold_in_place

_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+|\[\.\.\.\]|\[…\])\s*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Characters of a shared run that suggest an alignment, and the least share of the quote that must be found.
_SEED = 4
_LEAST_SHARE = 0.8


@dataclass(frozen=True)
class QuoteMatch:
    """Where a quote stands.

    Args:
        start: First character in the text.
        end: Behind the last one.
        score: Share of the quote's letters and digits found in order there, up to 1.0.
    """

    start: int
    end: int
    score: float


def find_quote(quote: str, text: str) -> QuoteMatch | None:
    """Where `quote` stands in `text`, or None.

    Spaces, line breaks, punctuation, letter case, full-width signs and traditional characters may differ. A few letters
    may differ too (a typing error, a hyphen at a line's end), a number may not. A quote with ``...`` in it is found as
    its parts in order.
    """
    parts = [part for part in _ELLIPSIS.split(quote) if part.strip()]
    if len(parts) > 1:
        whole = _find(quote, text)
        return whole if whole is not None and whole.score == 1.0 else _find_in_order(parts, text)
    return _find(quote, text)


def _find_in_order(parts: list[str], text: str) -> QuoteMatch | None:
    found: list[QuoteMatch] = []
    place = 0
    for part in parts:
        match = _find(part, text[place:])
        if match is None:
            return None
        found.append(QuoteMatch(place + match.start, place + match.end, match.score))
        place += match.end
    return QuoteMatch(found[0].start, found[-1].end, min(match.score for match in found))


def _find(quote: str, text: str) -> QuoteMatch | None:
    wanted, _ = _squeeze(quote)
    if not wanted:
        place = text.find(quote) if quote.strip() else -1
        return QuoteMatch(place, place + len(quote), 1.0) if place >= 0 else None
    held, places = _squeeze(text)
    start = held.find(wanted)
    while start >= 0:
        match = QuoteMatch(places[start], places[start + len(wanted) - 1] + 1, 1.0)
        if len(wanted) > 12 or _stands_alone(text, match):
            return match
        start = held.find(wanted, start + 1)
    return _find_nearly(quote, wanted, text, held, places)


def _squeeze(text: str) -> tuple[str, list[int]]:
    """The letters and digits of `text`, folded, and where each of them stands."""
    folded = fold_in_place(text)
    places = [place for place, character in enumerate(folded) if character.isalnum()]
    return "".join([folded[place] for place in places]), places


def _stands_alone(text: str, match: QuoteMatch) -> bool:
    """Whether a short match is no piece of a longer word or number ("7" in "27")."""

    def joins(left: str, right: str) -> bool:
        both_digits = left.isdigit() and right.isdigit()
        both_letters = left.isascii() and left.isalpha() and right.isascii() and right.isalpha()
        return both_digits or both_letters

    before, after = text[match.start - 1 : match.start], text[match.end : match.end + 1]
    return not (before and joins(before, text[match.start])) and not (after and joins(text[match.end - 1], after))


def _find_nearly(quote: str, wanted: str, text: str, held: str, places: list[int]) -> QuoteMatch | None:
    if len(wanted) < 2 * _SEED or len(held) < _SEED:
        return None
    # Runs shared by both vote for the shift between them; neighbouring shifts are one alignment.
    seeds: dict[str, list[int]] = {}
    for at in range(len(wanted) - _SEED + 1):
        seeds.setdefault(wanted[at : at + _SEED], []).append(at)
    votes: Counter[int] = Counter()
    width = max(8, len(wanted) // 8)
    for at in range(len(held) - _SEED + 1):
        for seed in seeds.get(held[at : at + _SEED], ())[:8]:
            votes[(at - seed) // width] += 1
    if not votes:
        return None
    shift = max(votes, key=lambda bucket: votes[bucket] + votes.get(bucket + 1, 0)) * width
    low = max(0, shift - width)
    high = min(len(held), shift + len(wanted) + 3 * width)
    blocks = [
        block
        for block in SequenceMatcher(None, wanted, held[low:high], autojunk=False).get_matching_blocks()
        if block.size >= 2
    ]
    share = sum(block.size for block in blocks) / len(wanted)
    if share < _LEAST_SHARE:
        return None
    start = places[low + blocks[0].b]
    end = places[low + blocks[-1].b + blocks[-1].size - 1] + 1
    if end - start > 2 * len(quote) + 40:
        return None
    if not set(_NUMBER.findall(fold_in_place(quote))) <= set(_NUMBER.findall(fold_in_place(text[start:end]))):
        return None
    return QuoteMatch(start, end, round(share, 4))
