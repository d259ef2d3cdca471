"""What an answer rests on: its `[n]` become citations with a quote, and each sentence gets a support score.

Support is found by matching spans: the share of a sentence's terms, weighted by their length, that stand together
in a stretch of one passage. It says that the words are there, not that the sentence follows from them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.utils.knowledge import Passage, citation_of
from qwen_agentkit.utils.text.quotes import find_quote
from qwen_agentkit.utils.text.segment import segment
from qwen_agentkit.utils.text.sentences import split_sentences

# `[1]`, `[1, 3]`, `[^1]`, `【1】`; not a link `[1](...)`.
_NUMBERS = r"\d{1,4}(?:\s*[,，、;]\s*\d{1,4})*"
_MARK = re.compile(rf"\s*(?:\[\^?({_NUMBERS})\]|【({_NUMBERS})】)(?!\()")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

# Support from which a sentence counts as borne out by the passages.
SUPPORTED_FROM = 0.5
# Support that a second sentence must add to be quoted too.
_PAIR_GAIN = 0.05
# Terms that a sentence needs to be a claim at all.
_LEAST_TERMS = 3


@dataclass
class Grounding:
    """What an answer rests on.

    Args:
        citations: Citation dicts in the order of the answer.
        unsupported: `{"text", "start", "end", "support"}` for each sentence that no passage bears out.
        answered: Whether any of it rests on the passages.
    """

    citations: list[dict[str, Any]] = field(default_factory=list)
    unsupported: list[dict[str, Any]] = field(default_factory=list)
    answered: bool = False


def ground(answer: str, passages: Sequence[Passage]) -> Grounding:
    """Matches an answer with the passages that its prompt held.

    Args:
        answer: The answer's text, with marks like `[2]` behind what rests on passage 2.
        passages: The passages, numbered as in the prompt.
    """
    by_number = {passage.n: passage for passage in passages}
    spans = _Spans(passages)
    grounding = Grounding()
    seen: set[tuple[int, int | None, int | None]] = set()
    for start, end, text, numbers in _claims(answer):
        cited = [by_number[number] for number in numbers if number in by_number]
        terms = segment(text)
        best = spans.best(text, terms, cited or passages)
        for passage in cited:
            found = spans.best(text, terms, [passage])
            citation = _citation(passage, found)
            key = (passage.n, citation["start"], citation["end"])
            if key not in seen:
                seen.add(key)
                grounding.citations.append(citation)
        if len(terms) < _LEAST_TERMS:
            continue
        if best.support >= SUPPORTED_FROM:
            grounding.answered = True
        else:
            support = round(best.support, 3)
            grounding.unsupported.append({"text": text, "start": start, "end": end, "support": support})
    if any(citation["score"] >= SUPPORTED_FROM for citation in grounding.citations):
        grounding.answered = True
    return grounding


def _claims(answer: str) -> list[tuple[int, int, str, list[int]]]:
    """Sentences as (start, end, text without marks, numbers). Marks behind a sentence's end belong to it."""
    claims: list[tuple[int, int, str, list[int]]] = []
    for start, end in split_sentences(answer):
        text = answer[start:end]
        numbers: list[int] = []
        lead = 0
        for mark in _MARK.finditer(text):
            found = [int(number) for number in re.findall(r"\d+", mark[1] or mark[2])]
            if claims and not text[lead : mark.start()].strip(" \t\n.。!！?？;；,，"):
                # Nothing but marks so far: they stand behind the sentence before.
                claims[-1][3].extend(found)
                lead = mark.end()
            else:
                numbers += found
        bare = " ".join(_MARK.sub("", text[lead:]).split())
        if bare.strip(".。!！?？;；,， -*#"):
            claims.append((start + lead, end, bare, numbers))
    return claims


@dataclass(frozen=True)
class _Span:
    passage: Passage | None
    start: int
    end: int
    support: float


class _Spans:
    """Finds the stretch of a passage that bears a sentence out best."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._sentences: dict[int, list[tuple[int, int, set[str]]]] = {
            passage.n: [
                (start, end, set(segment(passage.text[start:end]))) for start, end in split_sentences(passage.text)
            ]
            for passage in passages
        }

    def best(self, text: str, terms: Sequence[str], passages: Sequence[Passage]) -> _Span:
        best = _Span(None, 0, 0, 0.0)
        weights = {term: float(len(term)) for term in terms}
        total = sum(weights.values())
        for passage in passages:
            exact = find_quote(text, passage.text) if len(terms) >= _LEAST_TERMS else None
            if exact is not None:
                return _Span(passage, exact.start, exact.end, exact.score)
            if not total:
                continue
            sentences = self._sentences[passage.n]
            # A sentence of an answer often joins two that follow each other; alone each comes first.
            for length in (1, 2):
                for index in range(len(sentences) - length + 1):
                    part = sentences[index : index + length]
                    held = set().union(*(terms_there for _, _, terms_there in part))
                    share = sum(weight for term, weight in weights.items() if term in held) / total
                    if share > best.support + _PAIR_GAIN * (length - 1):
                        best = _Span(passage, part[0][0], part[-1][1], share)
        if best.passage is not None and _adds_numbers(text, best.passage.text):
            # Words may be shared by chance; a figure that stands nowhere is made up.
            best = _Span(best.passage, best.start, best.end, min(best.support, SUPPORTED_FROM - 0.01))
        return best


def _adds_numbers(text: str, passage: str) -> bool:
    held = set(_NUMBER.findall(passage))
    return any(number not in held for number in _NUMBER.findall(text))


def _citation(passage: Passage, found: _Span) -> dict[str, Any]:
    if found.passage is None or found.support <= 0:
        return citation_of(passage, score=0.0)
    begin = passage.start
    return citation_of(
        passage,
        quote=passage.text[found.start : found.end].strip(),
        start=None if begin is None else begin + found.start,
        end=None if begin is None else begin + found.end,
        score=round(found.support, 3),
    )
