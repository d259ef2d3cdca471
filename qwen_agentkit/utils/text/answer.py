"""Answers a question with the sentences of passages that answer it best, or says that none does.

Every sentence is described by a few numbers (how much of the question it holds, what stands around it, whether it has
a number where one is asked for) and ranked by their weighted sum; a second sum over the best one says how sure the
answer is. Both sets of weights were fitted on one half of cmrc2018, XQuAD English and XQuAD Chinese, see
`tests/benchmarks/answers.py`, and are the same for every language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.text.answer_case import read_case
from qwen_agentkit.utils.text.answer_weights import CERTAINTY_WEIGHTS, FOUND_CERTAINTY_WEIGHTS

ANSWERED_FROM = 0.5
# A sentence whose score is further below the best one's is not quoted beside it: more quotes, hardly more answers.
_QUOTED_WITHIN = 5.0
_CERTAINTY = tuple(CERTAINTY_WEIGHTS.values())
_FOUND_CERTAINTY = tuple(FOUND_CERTAINTY_WEIGHTS.values())


@dataclass(frozen=True)
class QuotedSentence:
    """A sentence quoted from a passage.

    Args:
        n: Number of the passage.
        start: First character in the passage's text.
        end: Behind the last one.
        text: The sentence, exactly as it stands there.
        score: How well it fits, comparable within one answer.
        rank: 0 for the best one.
    """

    n: int
    start: int
    end: int
    text: str
    score: float
    rank: int


@dataclass(frozen=True)
class QuotedAnswer:
    """The quotes that answer a question.

    Args:
        sentences: The quotes in reading order, passages in their own; [] when nothing fits.
        answered: Whether the passages answer the question.
        confidence: How likely that is, 0.0 to 1.0; answered from 0.5.
    """

    sentences: list[QuotedSentence] = field(default_factory=list)
    answered: bool = False
    confidence: float = 0.0

    @property
    def best(self) -> QuotedSentence | None:
        """The one quote that fits best."""
        return min(self.sentences, key=lambda sentence: sentence.rank, default=None)


def best_sentences(question: str, passages: Sequence[Passage], limit: int = 3) -> QuotedAnswer:
    """The sentences of `passages` that answer `question` best.

    Args:
        question: The question, in any language; small talk is answered by nothing.
        passages: What was retrieved for it, in any order; where each has a `score`, their ranks by it count. The more
            passages, the surer it is known what is rare.
        limit: The most sentences to quote.

    Returns:
        The quotes in reading order. When the passages do not answer, `answered` is False and there are no quotes.
    """
    if limit < 1:
        raise ValueError(f"limit is 1 or more, not {limit!r}")
    ranked, confidence = rank_sentences(question, passages)
    if confidence < ANSWERED_FROM or not ranked:
        return QuotedAnswer([], False, confidence)
    return QuotedAnswer(in_reading_order(within_reach(ranked[:limit]), passages), True, confidence)


def within_reach(ranked: Sequence[QuotedSentence]) -> list[QuotedSentence]:
    """The quotes, the best first, that are not much worse than the best one."""
    return [quote for quote in ranked if quote.score >= ranked[0].score - _QUOTED_WITHIN]


def in_reading_order(quotes: Sequence[QuotedSentence], passages: Sequence[Passage]) -> list[QuotedSentence]:
    """The quotes as a reader meets them: passages as given, sentences as they stand there."""
    order = {passage.n: place for place, passage in reversed(list(enumerate(passages)))}
    return sorted(quotes, key=lambda quote: (order[quote.n], quote.start))


def rank_sentences(question: str, passages: Sequence[Passage]) -> tuple[list[QuotedSentence], float]:
    """Every sentence that has to do with the question, the best first, and how likely the best ones answer it."""
    case = read_case(question, passages)
    if case is None:
        return [], 0.0
    weights = _FOUND_CERTAINTY if case.shares else _CERTAINTY
    total = sum(weight * value for weight, value in zip(weights, case.certainty(), strict=True))
    quotes = [
        QuotedSentence(
            passages[sentence.passage].n, sentence.start, sentence.end, sentence.text, round(sentence.score, 4), rank
        )
        for rank, sentence in enumerate(case.ranked)
    ]
    return quotes, round(1 / (1 + math.exp(-total)), 4)
