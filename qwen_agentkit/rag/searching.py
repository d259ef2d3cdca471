"""One search of an index: by terms, joined with what is near in meaning, put into a better order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qwen_agentkit.rag.filters import HitFilter
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.utils.text.segment import query_weights

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

# How many hits a search looks at beyond those asked for where some will be dropped.
_MORE = 4
_MOST_LOOKED_AT = 10_000


def search_passages(index: DocumentIndex, query: str, top_k: int, wanted: HitFilter) -> list[Hit]:
    """The passages that fit a query best, as `DocumentIndex.search` gives them."""
    documents = wanted.documents(index._catalog)
    if documents is not None and not documents:
        return []
    weights = query_weights(query)
    depth = top_k if index.reranker is None else max(top_k, index.reranker.depth)
    if index.embedder is None:
        hits = by_terms(index, weights, depth, documents, wanted)
    else:
        from qwen_agentkit.rag.vectors import POOL, join_vectors

        hits = by_terms(index, weights, max(depth, POOL), documents, wanted)
        hits = join_vectors(index, query, hits, depth, documents, wanted)
    if index.reranker is not None and hits:
        from qwen_agentkit.rag.rerankers import rerank

        hits = rerank(index.reranker, query, hits)
    hits = hits[:top_k]
    for rank, hit in enumerate(hits, 1):
        hit.rank, hit.query = rank, weights
    return hits


def by_terms(
    index: DocumentIndex, weights: dict[str, float], top_k: int, documents: set[int] | None, wanted: HitFilter
) -> list[Hit]:
    """The passages that fit terms with weights best, of these documents and through this filter."""
    looked_at = top_k if wanted.is_open else top_k * _MORE
    while True:
        found = index._store.search(weights, looked_at, documents)
        hits = hits_of(index, found, "keyword", wanted)
        if len(hits) >= top_k or len(found) < looked_at or looked_at >= _MOST_LOOKED_AT:
            return hits[:top_k]
        looked_at *= _MORE


def hits_of(index: DocumentIndex, found: Sequence[tuple[int, float]], searcher: str, wanted: HitFilter) -> list[Hit]:
    """The live hits of chunk numbers with scores that a filter lets through, in order."""
    held = index._catalog.hits([chunk for chunk, _ in found])
    hits = []
    for chunk, score in found:
        hit = held.get(chunk)
        if hit is not None and wanted.lets_through(hit):
            hit.score, hit.searcher = score, searcher
            hits.append(hit)
    return hits
