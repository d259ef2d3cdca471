"""A question with what was found for it, described in numbers: every sentence, and the best one's standing.

A sentence is described by how much of the question it holds, what stands around it, whether it has a number where one
is asked for; `qwen_agentkit.utils.text.answer` ranks by the weighted sum of these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.text.answer_weights import RANKING_WEIGHTS
from qwen_agentkit.utils.text.bm25 import SmallIndex, lucene_idf
from qwen_agentkit.utils.text.folding import has_han
from qwen_agentkit.utils.text.question import (
    Question,
    asks_nothing,
    counts_unit,
    defines,
    fits,
    nearest_terms,
    read_question,
)
from qwen_agentkit.utils.text.segment import segment
from qwen_agentkit.utils.text.sentences import split_sentences
from qwen_agentkit.utils.text.standing import lead_of, standing_of

# A sentence must hold this share of the question's weight to be worth describing.
_LEAST_COVER = 0.04
_K1 = 0.6
_B = 0.4
# Width of a window: about a paragraph of 130 English words.
_WINDOW_WIDTH = 900
KINDS = ("date", "number", "name", "place", "reason")
# The rule under the first row of a Markdown table.
_TABLE_RULE = re.compile(r"\|(?:\s*:?-{2,}:?\s*\|)+")
_RANKING = tuple(RANKING_WEIGHTS.values())
_FIRST_KIND = list(RANKING_WEIGHTS).index("holds a date that is asked for")


@dataclass
class _Sentence:
    passage: int
    window: int
    start: int
    end: int
    text: str
    terms: list[str]
    before: set[str]
    after: set[str]
    above: set[str]
    introduces: bool
    features: list[float] = field(default_factory=list)
    score: float = 0.0


@dataclass
class _Windows:
    """Runs of a few sentences, each about as long as a paragraph: their terms and how well each fits the question;
    and for each passage how high the search that found it ranked it (1, 1/2, 1/3 ...)."""

    terms: list[set[str]]
    scores: list[float]
    best: int
    found: list[float]


@dataclass
class Case:
    """A question with what was found for it, described in numbers.

    Args:
        question: The question, taken apart.
        held: Weights of the question's terms that the passages hold, typing errors mended.
        missing: Weights of those they do not hold.
        ranked: The sentences, the best first.
        windows: The runs of sentences.
        shares: The scores of passages that the search by terms found, each a share of what could be.
    """

    question: Question
    held: dict[str, float]
    missing: dict[str, float]
    ranked: list[_Sentence]
    windows: _Windows
    shares: list[float]

    def certainty(self) -> list[float]:
        """What tells an answer from a near miss, in the order of `CERTAINTY_WEIGHTS`.

        Where the search by terms found the passages, what its scores say is put behind, and the order is that of
        `FOUND_CERTAINTY_WEIGHTS`.
        """
        best = self.ranked[0]
        own = set(best.terms)
        near = own | best.before | best.after | best.above
        window = self.windows.terms[best.window]
        every = [*self.held, *self.missing]
        total = sum(self.held.values()) + sum(self.missing.values())
        length = sum(map(_length, every))

        def share(terms: set[str]) -> float:
            return sum(weight for term, weight in self.held.items() if term in terms) / total

        def plain_share(terms: set[str]) -> float:
            return sum(_length(term) for term in self.held if term in terms) / length

        names = self.question.names
        top, lead, spread, alone = lead_of(self.windows.scores)
        weighed = [math.exp(sentence.score - best.score) for sentence in self.ranked]
        kind = any(best.features[_FIRST_KIND : _FIRST_KIND + len(KINDS)])
        return [
            1.0,
            sum(self.missing.values()) / total,
            share(own),
            share(near),
            share(window),
            plain_share(own),
            plain_share(near),
            plain_share(window),
            1.0 if names else 0.0,
            sum(name not in window for name in names) / len(names) if names else 0.0,
            sum(name not in near for name in names) / len(names) if names else 0.0,
            top,
            lead,
            spread,
            top * spread,
            alone,
            1 / sum(weighed),
            math.log1p(len(every)),
            math.log1p(sum(_length(term) for term in self.held if term in own)),
            best.score / 10,
            1.0 if self.question.kind and kind else 0.0,
            1.0 if self.question.kind and not kind else 0.0,
            1.0 if has_han(self.question.text) else 0.0,
            *(standing_of(self.shares) if self.shares else ()),
        ]


def read_case(text: str, passages: Sequence[Passage]) -> Case | None:
    """Describes a question and what was found for it; None when they have nothing in common."""
    if asks_nothing(text):
        return None
    question = read_question(text)
    sentences = _sentences(passages)
    if not sentences or not question.terms:
        return None
    held, missing = _term_weights(question, sentences)
    if not held:
        return None
    windows = _score_windows(question, passages, sentences, held, missing)
    described = _describe(question, held, sentences, windows)
    for sentence in described:
        sentence.score = sum(weight * value for weight, value in zip(_RANKING, sentence.features, strict=True))
    described.sort(key=lambda sentence: -sentence.score)
    ranked = _without_repeats(described)
    shares = [passage.score for passage in passages if passage.searcher == "keyword" and passage.score is not None]
    return Case(question, held, missing, ranked, windows, shares) if ranked else None


def _sentences(passages: Sequence[Passage]) -> list[_Sentence]:
    sentences: list[_Sentence] = []
    window = 0
    for number, passage in enumerate(passages):
        above = set(segment(f"{passage.title or ''}\n{passage.section or ''}"))
        headings = {part.strip() for part in (passage.title or "", *(passage.section or "").split(" > "))}
        own: list[_Sentence] = []
        room = _window_room(passage.text)
        filled = 0.0
        spans = split_sentences(passage.text)
        for (start, end), following in zip(spans, [*spans[1:], (0, 0)], strict=True):
            text = passage.text[start:end]
            terms = segment(text)
            heads_table = _TABLE_RULE.fullmatch(passage.text, *following) is not None
            introduces = is_heading(text) or text in headings or heads_table
            if introduces:
                above = above | set(terms)
            if filled >= room:
                window += 1
                filled = 0.0
            filled += _width(text)
            own.append(_Sentence(number, window, start, end, text, terms, set(), set(), above, introduces))
        window += 1
        for place, sentence in enumerate(own):
            sentence.before = set(own[place - 1].terms) if place else set()
            sentence.after = set(own[place + 1].terms) if place + 1 < len(own) else set()
        for asked, answer in pairwise(own):
            if asked.text[-1] in "?？" and is_heading(asked.text):
                answer.terms = asked.terms + answer.terms  # a printed question and its answer are one
        sentences += own
    return sentences


def _width(text: str) -> float:
    """Length of a text, a character of a wide script counted as much as it says."""
    return len(text) if text.isascii() else sum(1.0 if character < "\u2e80" else 1.8 for character in text)


def _window_room(text: str) -> float:
    """The width of each window of a passage, so that its windows are about equal."""
    width = _width(text)
    return width / max(1, round(width / _WINDOW_WIDTH))


def is_heading(text: str) -> bool:
    """Whether a sentence only introduces what follows: a heading in Markdown, a question."""
    return text.startswith("#") or (text[-1:] in "?？" and len(text) < 200)


def _term_weights(question: Question, sentences: list[_Sentence]) -> tuple[dict[str, float], dict[str, float]]:
    """The weight of each term of the question that the passages hold, and of those they do not."""
    counts: dict[str, int] = {}
    for sentence in sentences:
        for term in set(sentence.terms):
            counts[term] = counts.get(term, 0) + 1
    for sentence in sentences:
        for term in sentence.above:
            counts.setdefault(term, 1)
    mistyped = nearest_terms(question.terms, counts)
    held: dict[str, float] = {}
    missing: dict[str, float] = {}
    for term, weight in question.terms.items():
        if term in counts:
            held[term] = weight * lucene_idf(counts[term], len(sentences))
        elif term in mistyped:
            meant = mistyped[term]
            held.setdefault(meant, 0.8 * weight * lucene_idf(counts[meant], len(sentences)))
        else:
            missing[term] = weight * lucene_idf(0, len(sentences))
    return held, missing


def _score_windows(
    question: Question,
    passages: Sequence[Passage],
    sentences: list[_Sentence],
    held: dict[str, float],
    missing: dict[str, float],
) -> _Windows:
    lists: list[list[str]] = [[] for _ in range(sentences[-1].window + 1)]
    above: list[set[str]] = [set() for _ in lists]
    for sentence in sentences:
        lists[sentence.window] += sentence.terms
        above[sentence.window] |= sentence.above
    index = SmallIndex.of_terms([terms + sorted(top - set(terms)) for terms, top in zip(lists, above, strict=True)])
    weights = {term: question.terms.get(term, 0.8) for term in [*held, *missing]}
    most = index.most(weights)
    scores = [score / most for score in index.scores_of(weights)]
    terms = [set(own) | top for own, top in zip(lists, above, strict=True)]
    return _Windows(terms, scores, max(range(len(scores)), key=scores.__getitem__), _ranks(passages, sentences, scores))


def _ranks(passages: Sequence[Passage], sentences: list[_Sentence], scores: list[float]) -> list[float]:
    """1 / rank of each passage by the score it was found with, or by its best window where that is not known."""
    known = [passage.score for passage in passages]
    if any(score is None for score in known):
        known = [0.0] * len(passages)
        for sentence in sentences:
            known[sentence.passage] = max(known[sentence.passage] or 0.0, scores[sentence.window])
    order = sorted(range(len(passages)), key=lambda place: -(known[place] or 0.0))
    found = [0.0] * len(passages)
    for rank, place in enumerate(order, 1):
        found[place] = 1 / rank
    return found


def _describe(
    question: Question, held: dict[str, float], sentences: list[_Sentence], windows: _Windows
) -> list[_Sentence]:
    total = sum(held.values())
    average = sum(len(sentence.terms) for sentence in sentences) / len(sentences)
    top = max(windows.scores) or 1.0
    covers = [sum(weight for term, weight in held.items() if term in terms) / total for terms in windows.terms]
    described = []
    for sentence in sentences:
        terms = held.keys() & set(sentence.terms)
        cover = sum(held[term] for term in terms) / total
        if cover < _LEAST_COVER or (sentence.introduces and len(sentences) > 1):
            continue
        rest = {term: weight for term, weight in held.items() if term not in terms}
        sentence.features = [
            cover,
            _saturated(sentence.terms, held, average) / total,
            sum(weight for term, weight in rest.items() if term in sentence.before) / total,
            sum(weight for term, weight in rest.items() if term in sentence.after) / total,
            sum(weight for term, weight in rest.items() if term in sentence.above) / total,
            covers[sentence.window],
            windows.scores[sentence.window] / top,
            1.0 if sentence.window == windows.best else 0.0,
            windows.found[sentence.passage],
            *(1.0 if question.kind == kind and fits(question, sentence.text) else 0.0 for kind in KINDS),
            1.0 if question.units and counts_unit(question, sentence.text, sentence.terms, sentence.above) else 0.0,
            1.0 if defines(question, sentence.text) else 0.0,
            _pairs_kept(question, held, sentence.terms),
            math.log1p(len(sentence.terms)),
        ]
        described.append(sentence)
    return described


def _saturated(terms: list[str], weights: dict[str, float], average: float) -> float:
    """BM25 of a sentence."""
    counts: dict[str, int] = {}
    for term in terms:
        if term in weights:
            counts[term] = counts.get(term, 0) + 1
    norm = _K1 * (1 - _B + _B * len(terms) / average)
    return sum(weights[term] * count * (_K1 + 1) / (count + norm) for term, count in counts.items())


def _pairs_kept(question: Question, weights: dict[str, float], terms: list[str]) -> float:
    """The share of the question's neighbouring terms that stand near each other in a sentence too."""
    if not question.pairs:
        return 0.0
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if term in weights:
            places.setdefault(term, []).append(place)
    kept = 0
    for one, other in question.pairs:
        if any(0 < there - here <= 3 for here in places.get(one, ()) for there in places.get(other, ())):
            kept += 1
    return kept / len(question.pairs)


def _length(term: str) -> float:
    """How much a term says by its looks alone: long words and codes much, a single Chinese character little."""
    if term.isascii():
        return min(len(term), 9) / 9 + (0.5 if any(character.isdigit() for character in term) else 0.0)
    return 1.0 if len(term) > 1 else 0.4


def _without_repeats(sentences: list[_Sentence]) -> list[_Sentence]:
    """The sentences without those that say the same again, as neighbouring passages that overlap do."""
    kept: dict[tuple[str, ...], _Sentence] = {}
    for sentence in sentences:
        kept.setdefault(tuple(sentence.terms), sentence)
    return list(kept.values())
