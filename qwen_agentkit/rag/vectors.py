"""Search by meaning: the vectors of the passages, and what is near a question joined with the search by terms."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.log import logger
from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.rag.embedders import Embedder, lexical_weight
from qwen_agentkit.rag.filters import HitFilter
from qwen_agentkit.rag.fusion import fuse
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.report import AddReport, Problem
from qwen_agentkit.rag.searching import by_terms, hits_of
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.text.segment import query_weights

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

# Passages embedded between two writes.
_BATCH = 128
# Hits of each part that are joined, at least.
POOL = 50


def unit_vectors(embedder: Embedder, texts: list[str], kind: Any) -> Any:
    """The vectors of texts, each of length 1, as an array.

    Raises:
        ValueError: The embedder did not give as many vectors, or not all of one length.
    """
    numpy = need("numpy")
    given = list(embedder.embed(texts, kind))
    if len(given) != len(texts) or len({len(vector) for vector in given}) > 1:
        lengths = sorted({len(vector) for vector in given})
        raise ValueError(
            f"Embedder {embedder.name} gave {len(given)} vectors of lengths {lengths} for {len(texts)} texts"
        )
    matrix = numpy.asarray(given, dtype="float32")
    return matrix / numpy.maximum(numpy.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def fill_vectors(catalog: Catalog, embedder: Embedder, report: AddReport) -> None:
    """Embeds the passages that have no vector yet. One text is embedded once, however many passages have it.

    An embedder that fails costs its vectors and a problem of the report: the passages are found by their terms, and
    the next `add` tries again.
    """
    made_by = catalog.meta("embedder")
    if made_by not in (None, embedder.name):
        logger.warning("The embedder is %s now and was %s: all passages are embedded anew", embedder.name, made_by)
        catalog.drop_vectors()
        catalog.set_meta("dimension", "")
    if made_by != embedder.name:
        catalog.set_meta("embedder", embedder.name)
    try:
        while waiting := catalog.without_vector(_BATCH):
            vectors = unit_vectors(embedder, [text for _, text in waiting], "document")
            _check_dimension(catalog, embedder, vectors.shape[1])
            rows = ((key, vector.tobytes()) for (key, _), vector in zip(waiting, vectors, strict=True))
            catalog.add_vectors(rows)
    except (QwenAgentKitError, OSError, ValueError) as error:
        logger.warning("passages are indexed without vectors: %s", error)
        report.problems.append(Problem(embedder.name, f"indexed without vectors: {error}", type(error).__name__))


def _check_dimension(catalog: Catalog, embedder: Embedder, dimension: int) -> None:
    """Vectors of another length, from a model that changed under its name, are made anew too."""
    held = catalog.meta("dimension")
    if held and int(held) != dimension:
        logger.warning(
            "%s gives %d numbers a text now and gave %s: all passages are embedded anew", embedder.name, dimension, held
        )
        catalog.drop_vectors()
    if held != str(dimension):
        catalog.set_meta("dimension", str(dimension))


def join_vectors(
    index: DocumentIndex, query: str, hits: list[Hit], top_k: int, documents: set[int] | None, wanted: HitFilter
) -> list[Hit]:
    """Joins what terms found with what is near in meaning.

    Args:
        index: The index, with its embedder.
        query: The question.
        hits: What terms found, more than are asked for.
        top_k: How many are asked for.
        documents: Only these; None is all.
        wanted: The rest of the filter.

    Returns:
        The joined hits; those of terms alone when there are no vectors of this embedder or it does not answer.
    """
    embedder = index.embedder
    if embedder is None:
        return hits[:top_k]
    near = _near(index, embedder, query, max(top_k, POOL), documents, wanted)
    if not near:
        return hits[:top_k]
    share = fusion_weight(index._catalog, embedder)
    by_chunk = {hit.chunk: hit for hit in [*near, *hits]}
    found = {"keyword": [hit.chunk for hit in hits], "vector": [hit.chunk for hit in near]}
    joined = []
    for chunk, score, ranks in fuse(found, {"keyword": share, "vector": 1 - share})[:top_k]:
        hit = by_chunk[chunk]
        hit.score, hit.searcher, hit.ranks = score, "hybrid", ranks
        joined.append(hit)
    return joined


def _near(
    index: DocumentIndex, embedder: Embedder, query: str, top_k: int, documents: set[int] | None, wanted: HitFilter
) -> list[Hit]:
    if index._catalog.meta("embedder") != embedder.name or not query.strip():
        return []
    vectors = index.vectors()
    if not len(vectors):
        return []
    try:
        vector = _query_vector(embedder, query)
        found = vectors.search(vector, top_k if wanted.is_open else 4 * top_k, documents)
    except (QwenAgentKitError, OSError, ValueError) as error:
        logger.warning("the question is searched by its terms alone: %s", error)
        return []
    return hits_of(index, found, "vector", wanted)[:top_k]


@functools.lru_cache(maxsize=256)
def _remembered_vector(embedder: Any, query: str) -> Any:
    return unit_vectors(embedder, [query], "query")[0]


def _query_vector(embedder: Embedder, query: str) -> Any:
    key: Any = embedder
    try:
        return _remembered_vector(key, query)
    except TypeError:  # an embedder of the user's own that cannot be a key
        return unit_vectors(embedder, [query], "query")[0]


def fusion_weight(catalog: Catalog, embedder: Embedder) -> float:
    """What terms weigh beside this embedder in this index: as fitted for it, else the embedder's own."""
    fitted = catalog.meta(f"lexical_weight {embedder.name}")
    return float(fitted) if fitted else min(1.0, max(0.0, lexical_weight(embedder)))


def keep_weight(catalog: Catalog, embedder: Embedder, weight: float) -> None:
    """Keeps the weight of terms beside this embedder in the index."""
    catalog.set_meta(f"lexical_weight {embedder.name}", str(weight))


WEIGHTS = tuple(round(0.05 * step, 2) for step in range(21))


def best_weight(index: DocumentIndex, labelled: Sequence[tuple[str, str]]) -> float:
    """The weight of terms whose joined order puts the answering sources highest; ties go to terms."""
    found = []
    for query, source in labelled:
        hits = by_terms(index, query_weights(query), POOL, None, HitFilter())
        near = _near(index, index.embedder, query, POOL, None, HitFilter()) if index.embedder is not None else []
        sources = {hit.chunk: hit.source for hit in [*hits, *near]}
        results = {"keyword": [hit.chunk for hit in hits], "vector": [hit.chunk for hit in near]}
        found.append((results, sources, source))

    def quality(weight: float) -> float:
        total = 0.0
        for results, sources, source in found:
            order = [sources[chunk] for chunk, _, _ in fuse(results, {"keyword": weight, "vector": 1 - weight})]
            place = order.index(source) if source in order else None
            total += 0.0 if place is None or place >= 10 else 1 / math.log2(place + 2)
        return round(total, 9)

    return max(WEIGHTS, key=lambda weight: (quality(weight), weight))
