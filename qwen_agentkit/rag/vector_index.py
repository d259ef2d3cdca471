"""Where the vectors of an index are compared: exactly in memory, by a graph when they are many, in Milvus."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from qwen_agentkit.log import logger
from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

# Up to so many vectors every one is compared (some 7 ms for 100,000 of 384 numbers); beyond, a graph leads to the near
# ones.
EXACT_UP_TO = 100_000


class VectorIndex(Protocol):
    """The vectors of the live chunks of an index, ready to be searched."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def search(self, vector: Any, top_k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The nearest chunks by cosine, as (chunk, cosine), the nearest first; of these documents only, if given."""
        ...


class ExactVectors:
    """All vectors in memory, 4 bytes a number, each compared with the question's.

    Args:
        catalog: Where they are kept.
    """

    def __init__(self, catalog: Catalog) -> None:
        numpy = need("numpy")
        rows = catalog.vectors()
        self._numpy = numpy
        self._chunks = numpy.array([row[0] for row in rows], dtype="int64")
        self._documents = numpy.array([row[1] for row in rows], dtype="int64")
        self._matrix = (
            numpy.frombuffer(b"".join(row[2] for row in rows), dtype="float32").reshape(len(rows), -1) if rows else None
        )

    def __len__(self) -> int:
        return len(self._chunks)

    def search(self, vector: Any, top_k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The nearest chunks."""
        numpy = self._numpy
        if self._matrix is None or self._matrix.shape[1] != len(vector):
            return []
        scores = self._matrix @ vector
        if documents is not None:
            scores = numpy.where(numpy.isin(self._documents, list(documents)), scores, -numpy.inf)
        return best_of(self._chunks, scores, top_k)


def best_of(chunks: Any, scores: Any, top_k: int) -> list[tuple[int, float]]:
    """(chunk, score) of the highest scores, the highest first; those of minus infinity are left out."""
    numpy = need("numpy")
    count = min(top_k, len(scores))
    if count < 1:
        return []
    best = numpy.argpartition(-scores, count - 1)[:count]
    best = best[numpy.argsort(-scores[best], kind="stable")]
    return [(int(chunks[place]), float(scores[place])) for place in best if numpy.isfinite(scores[place])]


def open_vectors(index: DocumentIndex) -> VectorIndex:
    """The vectors of an index as they are now."""
    if index._store.name == "milvus":
        from qwen_agentkit.rag.vector_milvus import MilvusVectors

        return MilvusVectors(index._store)
    if index._catalog.totals()["vectors"] > EXACT_UP_TO:
        from qwen_agentkit.rag.vector_graph import graph_vectors

        graph = graph_vectors(index)
        if graph is not None:
            return graph
        logger.warning("there is no graph of the vectors of %s: every one is compared", index.path)
    return ExactVectors(index._catalog)


def settle_vectors(index: DocumentIndex) -> None:
    """After writing: what was embedded is brought to where vectors are compared."""
    if index._store.name == "milvus":
        from qwen_agentkit.rag.vector_milvus import send_vectors

        send_vectors(index._catalog, index._store)
    else:
        from qwen_agentkit.rag.vector_graph import settle_graph

        settle_graph(index, EXACT_UP_TO)
