"""What a hit's score is made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.store import Store
from qwen_agentkit.utils.text.bm25 import lucene_idf
from qwen_agentkit.utils.text.question import nearest_terms


@dataclass(frozen=True)
class TermPart:
    """One term's part in a score.

    Args:
        term: The query's term.
        weight: Its weight in the query.
        idf: How rare it is in the index: ln(1 + (N - n + .5) / (n + .5)).
        chunks: In how many passages it occurs.
        count: How often in this one.
        matched: The word of the passage that was taken for it when it was misspelt; else the term.
    """

    term: str
    weight: float
    idf: float
    chunks: int
    count: int
    matched: str


@dataclass(frozen=True)
class Explanation:
    """Why a hit stands where it stands.

    Args:
        source: Of the hit.
        searcher: What found it.
        rank: Its place in the result.
        score: Its score.
        length: Terms of the passage.
        terms: The parts, the most telling first.
        missing: Terms of the query that the passage lacks.
        ranks: Its rank in each part of a hybrid search.
    """

    source: str
    searcher: str
    rank: int
    score: float
    length: int
    terms: list[TermPart] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.searcher}, rank {self.rank}, score {self.score:.3f}, {self.length} terms: {self.source}"]
        lines += [f"  {name}: rank {rank}" for name, rank in self.ranks.items()]
        for part in self.terms:
            meant = "" if part.matched == part.term else f" (read as {part.matched!r})"
            lines.append(
                f"  {part.term}{meant}: {part.count} times here, in {part.chunks} passages, idf {part.idf:.2f}"
            )
        if self.missing:
            lines.append(f"  not here: {', '.join(self.missing)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON-able values."""
        from dataclasses import asdict

        return asdict(self)


def explain_hit(hit: Hit, store: Store, terms: list[str]) -> Explanation:
    """Explains a hit by the terms of its passage and the counts of the store."""
    counts = Counter(terms)
    total, holding = store.facts(list(hit.query))
    mistyped = nearest_terms([term for term in hit.query if not holding.get(term)], counts)
    parts, missing = [], []
    for term, weight in hit.query.items():
        matched = mistyped.get(term, term)
        if counts[matched]:
            chunks = min(holding.get(term, 0), total)
            parts.append(TermPart(term, weight, lucene_idf(chunks, total), chunks, counts[matched], matched))
        else:
            missing.append(term)
    parts.sort(key=lambda part: -part.weight * part.idf)
    return Explanation(hit.source, hit.searcher, hit.rank, hit.score, len(terms), parts, missing, dict(hit.ranks))
