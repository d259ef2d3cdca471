"""BM25 over a small set of texts in memory, with rank-bm25.

rank-bm25's own idf, ``ln((N - n + .5) / (n + .5))``, is zero for a term in half of the texts, so that a set of two
texts does not rank at all. Here it is Lucene's, ``ln(1 + (N - n + .5) / (n + .5))``, which is always positive.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from qwen_agentkit.utils.text.segment import query_weights, segment

K1 = 1.2
B = 0.75


class SmallIndex:
    """Texts ready to be ranked, for many questions over the same ones.

    Args:
        texts: The texts; they are segmented once.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._set([segment(text) for text in texts])

    @classmethod
    def of_terms(cls, terms: list[list[str]]) -> SmallIndex:
        """An index of texts that are cut into terms already."""
        index = cls.__new__(cls)
        index._set(terms)
        return index

    def _set(self, terms: list[list[str]]) -> None:
        self._terms = terms
        self._count = len(terms)
        self._bm25: Any = None
        self._held: dict[str, int] | None = None

    def scores(self, query: str) -> list[float]:
        """The BM25 score of each text, in their order; 0.0 where no term of the query occurs."""
        return self.scores_of(query_weights(query))

    def vocabulary(self) -> dict[str, int]:
        """Every term with the number of texts that hold it."""
        if self._held is None:
            self._held = Counter(term for terms in self._terms for term in set(terms))
        return self._held

    def most(self, weights: dict[str, float]) -> float:
        """The score that no text can reach: every term there as often as could be. Terms that no text has count."""
        held = self.vocabulary()
        return sum(w * lucene_idf(held.get(term, 0), self._count) for term, w in weights.items()) * (K1 + 1)

    def scores_of(self, weights: dict[str, float]) -> list[float]:
        """The score of each text for terms with weights."""
        if not weights or not any(self._terms):
            return [0.0] * self._count
        if self._bm25 is None:
            self._bm25 = _mended()(self._terms, k1=K1, b=B)
        total: Any = 0.0
        for term, weight in weights.items():
            if term in self._bm25.idf:
                total = total + weight * self._bm25.get_scores([term])
        return [0.0] * self._count if isinstance(total, float) else [float(score) for score in total]


def rank(query: str, texts: Sequence[str]) -> list[float]:
    """The BM25 score of each text for `query`, in the order of `texts`; higher is better, 0.0 is no match.

    Args:
        query: What is looked for.
        texts: Any number of texts, none and one included.
    """
    return SmallIndex(texts).scores(query)


def lucene_idf(texts_with_term: int, texts: int) -> float:
    """Lucene's inverse document frequency, positive for every term."""
    return math.log(1 + (texts - texts_with_term + 0.5) / (texts_with_term + 0.5))


def _mended() -> type:
    """rank_bm25's BM25Okapi with Lucene's idf; made at first use, since rank_bm25 imports numpy."""
    global _MENDED
    if _MENDED is None:
        from rank_bm25 import BM25Okapi

        class MendedBM25(BM25Okapi):
            def _calc_idf(self, nd: dict[str, int]) -> None:
                self.idf = {term: lucene_idf(count, self.corpus_size) for term, count in nd.items()}

        _MENDED = MendedBM25
    return _MENDED


_MENDED: type | None = None
