"""What an answer rests on: its ``[n]`` marks matched back to the text of the passages, sentence by sentence.

For each sentence the passages it cites are searched for the span that says the same: the sentence itself when it is a
quote, else the sentences that hold most of its words. The share found is the sentence's support. A number or a name
that the span lacks caps it, however many other words agree; so does a "not" that only one of quote and text has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.utils.knowledge import Passage, citation_of, quote_of
from qwen_agentkit.utils.text.folding import fold
from qwen_agentkit.utils.text.quotes import find_quote
from qwen_agentkit.utils.text.segment import segment
from qwen_agentkit.utils.text.sentences import split_sentences

# [1], [1, 2], [1-3], [^1], 【1】, ［1］; not the brackets of a Markdown link.
_MARK = re.compile(r"[\[【［]\^?\s*(\d{1,3}(?:\s*[,，、;–-]\s*\d{1,3})*)\s*[\]】］](?!\()")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r"[“\"「『]([^”\"」』\n]{12,})[”\"」』]")
# What turns a sentence into its contrary.
_NOT = re.compile(r"\b(?:not|no|never|none|nor|neither|cannot|without)\b|n['’]t\b|[不没未无非]", re.IGNORECASE)
_LEFT_OUT = re.compile(r"\.{3}|…")
SUPPORTED_FROM = 0.5
# The most support that words give where a number or a name is not there, or a "not".
_CAP_WITHOUT_FACT = 0.4
# Sentences of a passage that are taken together.
_SPAN_SENTENCES = 3
_MORE_FOR_LENGTH = 0.05
# What has fewer terms than this, and no number, claims nothing.
_LEAST_TERMS = 3


@dataclass(frozen=True)
class SentenceSupport:
    """How well a sentence of an answer is supported.

    Args:
        text: The sentence, without its marks.
        start: First character in the answer.
        end: Behind the last one, marks not counted.
        cited: Numbers that it cites.
        support: From 0.0 to 1.0, by the best of the cited passages, or of all when it cites none.
        n: The passage that supports it best; None when none does.
        claims: Whether it says anything that could be supported ("Here is what I found:" does not).
    """

    text: str
    start: int
    end: int
    cited: tuple[int, ...]
    support: float
    n: int | None
    claims: bool


@dataclass
class Grounding:
    """What an answer rests on.

    Args:
        citations: One dict for each passage and span that is cited, in the order of the answer:
            ``{n, source, page, page_end, sheet, rows, section, quote, start, end, score}``.
        unsupported: Sentences that claim something no cited passage says: ``{text, start, end, support}``.
        answered: Whether any of it rests on the passages.
        sentences: Every sentence with its support.
    """

    citations: list[dict[str, Any]] = field(default_factory=list)
    unsupported: list[dict[str, Any]] = field(default_factory=list)
    answered: bool = False
    sentences: list[SentenceSupport] = field(default_factory=list)


def ground(answer: str, passages: Sequence[Passage]) -> Grounding:
    """Matches an answer with the passages that its prompt held.

    Args:
        answer: The answer's text, with marks like ``[2]`` behind what rests on passage 2. One without any mark is given
            the citations of the spans that support it, since a model may forget them.
        passages: The passages, with the numbers of the prompt.
    """
    by_number = {passage.n: passage for passage in passages}
    spans = {passage.n: _Spans(passage) for passage in passages}
    marked = _MARK.search(answer) is not None
    result = Grounding()
    for start, end, cited in _marked_sentences(answer):
        text = " ".join(_MARK.sub("", answer[start:end]).split())
        known = [n for n in cited if n in by_number]
        claims = _claims(text)
        found = _support(text, [spans[n] for n in (known or by_number)]) if claims or known else None
        support = found.score if found is not None else 0.0
        best = found.n if found is not None and support > 0 else None
        result.sentences.append(SentenceSupport(text, start, end, tuple(cited), support, best, claims))
        if claims and support < SUPPORTED_FROM:
            result.unsupported.append({"text": text, "start": start, "end": end, "support": support})
        if support >= SUPPORTED_FROM:
            result.answered = True
        to_cite = known if known or marked or support < SUPPORTED_FROM or best is None else [best]
        for n in to_cite:
            _add(result.citations, _citation(by_number[n], found if n == best else _support(text, [spans[n]])))
    return result


def _citation(passage: Passage, found: _Found | None) -> dict[str, Any]:
    if found is None or found.score == 0.0:
        return citation_of(passage, score=0.0)
    return quote_of(passage, found.start, found.end, score=found.score)


def citation_numbers(text: str) -> list[int]:
    """The numbers that a text cites, each once, in order."""
    return list(dict.fromkeys(n for match in _MARK.finditer(text) for n in _numbers(match.group(1))))


def _add(citations: list[dict[str, Any]], citation: dict[str, Any]) -> None:
    for held in citations:
        if (held["n"], held["quote"]) == (citation["n"], citation["quote"]):
            held["score"] = max(held["score"] or 0.0, citation["score"] or 0.0)
            return
    citations.append(citation)


def _marked_sentences(answer: str) -> Iterable[tuple[int, int, list[int]]]:
    """The sentences of an answer with the numbers that stand in them or right behind them."""
    # Marks are blanked out, so that "months. [1] The" ends where its words end.
    blank = _MARK.sub(lambda match: " " * len(match.group()), answer)
    marks = [(match.start(), _numbers(match.group(1))) for match in _MARK.finditer(answer)]
    spans = split_sentences(blank)
    cited: list[list[int]] = [[] for _ in spans]
    for place, numbers in marks:
        before = [position for position, (start, _) in enumerate(spans) if start <= place]
        if before:
            cited[before[-1]] += [n for n in numbers if n not in cited[before[-1]]]
        elif spans:
            cited[0] += numbers  # a mark in front of everything
    for (start, end), numbers in zip(spans, cited, strict=True):
        yield start, end, numbers


def _numbers(inside: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"\s*[,，、;]\s*", inside.strip()):
        first, _, last = part.replace("–", "-").partition("-")
        low, high = int(first), int(last or first)
        numbers += range(low, high + 1) if low <= high <= low + 50 else [low]
    return numbers


def _claims(text: str) -> bool:
    if text.endswith((":", "：", "?", "？")) or text.startswith("#"):
        return False
    return len(set(segment(text))) >= _LEAST_TERMS or _NUMBER.search(text) is not None


@dataclass(frozen=True)
class _Found:
    n: int
    start: int
    end: int
    score: float


class _Spans:
    """The sentences of a passage with their terms, cut once for all sentences of an answer."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.sentences = split_sentences(passage.text)
        self.terms = [set(segment(passage.text[start:end])) for start, end in self.sentences]

    def best(self, text: str, wanted: dict[str, float], facts: set[str]) -> _Found | None:
        """The span that holds most of a sentence's words."""
        quote = find_quote(text, self.passage.text)
        if quote is not None:
            said = self.passage.text[quote.start : quote.end]
            # A quote is found though a few letters differ; "not" is no more than that.
            is_turned = len(_NOT.findall(fold(text))) != len(_NOT.findall(fold(said))) and not _LEFT_OUT.search(text)
            score = min(quote.score, _CAP_WITHOUT_FACT) if is_turned else quote.score
            return _Found(self.passage.n, quote.start, quote.end, score)
        total = sum(wanted.values())
        best_share, best = 0.0, (0, 0)
        for first in range(len(self.sentences)):
            held: set[str] = set()
            for last in range(first, min(first + _SPAN_SENTENCES, len(self.sentences))):
                new = self.terms[last] & wanted.keys()
                if not held and last > first:
                    break  # a span begins with a sentence that says something of it
                if new <= held:
                    continue
                held |= new
                share = sum(wanted[term] for term in held) / total
                # A longer span must say clearly more to be taken instead of a shorter one.
                if share > best_share + _MORE_FOR_LENGTH * (last - first):
                    best_share, best = share, (self.sentences[first][0], self.sentences[last][1])
        if not best_share:
            return None
        if not self._has_facts(facts, *best):
            best_share = min(best_share, _CAP_WITHOUT_FACT)
        return _Found(self.passage.n, *best, round(best_share, 4))

    def _has_facts(self, facts: set[str], start: int, end: int) -> bool:
        """Whether the numbers and names of a sentence stand in a span, or in what is above it (title, headings)."""
        if not facts:
            return True
        passage = self.passage
        around = f"{passage.title or ''} {passage.section or ''} {passage.page or ''} {passage.text[start:end]}"
        return facts <= _facts(around) | set(segment(around))


def _support(text: str, spans: Sequence[_Spans]) -> _Found | None:
    parts = [match.group(1) for match in _QUOTED.finditer(text)]
    wanted = {term: _says(term) for term in segment(text)}
    if not wanted:
        return None
    facts = _facts(text)
    found = [one for span in spans if (one := span.best(text, wanted, facts)) is not None]
    for part in parts:  # a quotation within the sentence that stands there word for word
        for span in spans:
            quote = find_quote(part, span.passage.text)
            if quote is not None:
                held = [one for one in found if one.n == span.passage.n]
                score = max([quote.score * 0.9, *(one.score for one in held)])
                found.append(_Found(span.passage.n, quote.start, quote.end, round(score, 4)))
    return max(found, key=lambda one: one.score, default=None)


def _says(term: str) -> float:
    if term.isascii():
        return min(len(term), 9) / 9 + (0.5 if any(character.isdigit() for character in term) else 0.0)
    return 1.0 if len(term) > 1 else 0.3


def _facts(text: str) -> set[str]:
    """The numbers of a text, and its Latin names: words in capitals that do not begin a sentence."""
    folded = fold(text)
    numbers = {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(folded)}
    names: set[str] = set()
    for start, end in split_sentences(folded):
        words = folded[start:end].split()
        named = [word for word in words[1:] if word[:1].isupper()]
        names.update(segment(" ".join(named)))
    return numbers | names
