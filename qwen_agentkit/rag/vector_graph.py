"""Very many vectors: a graph (HNSW, Malkov and Yashunin 2016) that leads to the near ones, kept in a file.

The writer makes it and adds to it; a reader takes it from the file and adds what is newer in memory. faiss does the
work; where it is not installed every vector is compared, which is right and slow. The vector of a removed passage
stays in the graph, unseen, until a quarter of it is such or the index is cleaned.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.log import logger
from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.rag.vector_index import best_of
from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

# Neighbours of a vector in the graph, and how many are looked at when it is built and searched.
_NEIGHBOURS = 24
_BUILD_WIDTH = 120
_SEARCH_WIDTH = 160
_BATCH = 5_000
# Removed ones in the graph, of those that are left: beyond this share it is made anew.
_DEAD_SHARE = 0.25
# The file is written when it lacks more than this share; until then readers add the rest themselves.
_UNSAVED_SHARE = 0.01
# Of so many passages that a filter allows, all are compared.
_COMPARED = 20_000


class VectorGraph:
    """A graph over vectors of length 1, each known by the number of its chunk; threads may share it.

    Args:
        faiss_index: As faiss made or read it.
    """

    def __init__(self, faiss_index: Any) -> None:
        self._faiss: Any = need("faiss", extra="vectors")
        self._index = faiss_index
        self._lock = threading.Lock()

    @classmethod
    def new(cls, dimension: int) -> VectorGraph:
        """An empty one."""
        faiss: Any = need("faiss", extra="vectors")
        graph = faiss.IndexHNSWFlat(dimension, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = _BUILD_WIDTH
        index = faiss.IndexIDMap2(graph)
        index.own_fields = True
        graph.this.disown()
        return cls(index)

    @classmethod
    def read(cls, file: Path) -> VectorGraph:
        """The one in a file.

        Raises:
            RuntimeError: The file is damaged.
        """
        faiss: Any = need("faiss", extra="vectors")
        return cls(faiss.read_index(str(file)))

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return int(self._index.d)

    def chunks(self) -> Any:
        """The numbers of all chunks in it."""
        return self._faiss.vector_to_array(self._index.id_map)

    def add(self, chunks: Sequence[int], matrix: Any) -> None:
        """Adds vectors."""
        numpy = need("numpy")
        with self._lock:
            self._index.add_with_ids(
                numpy.ascontiguousarray(matrix, dtype="float32"), numpy.asarray(chunks, dtype="int64")
            )

    def search(self, vector: Any, top_k: int, allowed: Any = None) -> list[tuple[int, float]]:
        """The near chunks, the nearest first; of those allowed only, if given."""
        numpy = need("numpy")
        query = numpy.ascontiguousarray(vector, dtype="float32").reshape(1, -1)
        width = max(_SEARCH_WIDTH, 2 * top_k)
        with self._lock:
            if allowed is not None and len(allowed) <= _COMPARED:
                held = numpy.stack([self._index.reconstruct(int(chunk)) for chunk in allowed])
                return best_of(allowed, held @ query[0], top_k)
            chosen = None if allowed is None else self._faiss.IDSelectorBatch(allowed)
            parameters = self._faiss.SearchParametersHNSW(efSearch=width, sel=chosen)
            scores, chunks = self._index.search(query, min(top_k, self._index.ntotal), params=parameters)
        return [(int(chunk), float(score)) for chunk, score in zip(chunks[0], scores[0], strict=True) if chunk >= 0]

    def write(self, file: Path) -> None:
        """Writes it to a file, whole or not at all."""
        beside = file.with_suffix(".new")
        with self._lock:
            self._faiss.write_index(self._index, str(beside))
        os.replace(beside, file)


class GraphVectors:
    """The vectors of the live chunks of an index, searched by a graph.

    Args:
        graph: It may hold removed chunks beside.
        live: (chunk, document) of all that count, in order.
    """

    def __init__(self, graph: VectorGraph, live: list[tuple[int, int]]) -> None:
        numpy = need("numpy")
        self._numpy = numpy
        self._graph = graph
        pairs = numpy.array(live, dtype="int64").reshape(-1, 2)
        self._chunks, self._documents = pairs[:, 0].copy(), pairs[:, 1].copy()
        self._dead = len(graph.chunks()) - len(live)

    def __len__(self) -> int:
        return len(self._chunks)

    def search(self, vector: Any, top_k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The nearest chunks, nearly always all of them."""
        if len(vector) != self._graph.dimension or not len(self):
            return []
        if documents is not None:
            allowed = self._chunks[self._numpy.isin(self._documents, list(documents))]
            return self._graph.search(vector, top_k, allowed) if len(allowed) else []
        asked = top_k
        while True:
            found = self._graph.search(vector, asked)
            live = [(chunk, score) for chunk, score in found if self._is_live(chunk)]
            if len(live) >= min(top_k, len(self)) or len(found) < asked or asked >= top_k + self._dead:
                return live[:top_k]
            asked = min(2 * asked, top_k + self._dead)

    def _is_live(self, chunk: int) -> bool:
        place = int(self._numpy.searchsorted(self._chunks, chunk))
        return place < len(self._chunks) and int(self._chunks[place]) == chunk


def graph_vectors(index: DocumentIndex) -> GraphVectors | None:
    """The vectors of an index through its graph; None where no writer has made one, or faiss is not installed."""
    graph = _held(index)
    if graph is None:
        return None
    live = index._catalog.with_vector()
    _complete(graph, index._catalog, live)
    return GraphVectors(graph, live)


def settle_graph(index: DocumentIndex, exact_up_to: int) -> None:
    """After writing: the graph is made, brought up to date, or removed when there are few vectors."""
    catalog = index._catalog
    if catalog.totals()["vectors"] <= exact_up_to:
        index.graph = None
        _remove_files(index.path, None)
        return
    live = catalog.with_vector()
    try:
        graph = _held(index)
        stale = graph is not None and len(graph.chunks()) - len(live) > _DEAD_SHARE * len(live)
        if graph is None or stale:
            logger.info("a graph over %d vectors is made", len(live))
            graph = VectorGraph.new(int(catalog.meta("dimension") or 0))
        _complete(graph, catalog, live)
    except MissingDependencyError as error:
        logger.warning("%s Until then every one of %d vectors is compared.", error, len(live))
        return
    index.graph = (_stamp(catalog), graph)
    file = _file(index)
    if file is None:
        return
    saved = catalog.meta("graph_size") if file.exists() else None
    size = len(graph.chunks())
    if stale or saved is None or size - int(saved) > _UNSAVED_SHARE * size:
        graph.write(file)
        catalog.set_meta("graph_size", str(size))
    _remove_files(index.path, file)


def drop_graph(index: DocumentIndex) -> None:
    """Removes the graph, so that the next `settle_graph` makes it without what was removed."""
    index.graph = None
    _remove_files(index.path, None)


def _held(index: DocumentIndex) -> VectorGraph | None:
    """The graph in memory when it is of this embedder, else the one in the file, if there is one."""
    stamp = _stamp(index._catalog)
    if index.graph is not None and index.graph[0] == stamp:
        return index.graph[1]
    index.graph = None
    file = _file(index)
    if file is None or not file.exists():
        return None
    try:
        index.graph = (stamp, VectorGraph.read(file))
    except MissingDependencyError as error:
        logger.warning("%s", error)
        return None
    except RuntimeError as error:  # as faiss says that a file is damaged
        logger.warning("the graph of the vectors of %s cannot be read and is made anew: %s", index.path, error)
        return None
    return index.graph[1]


def _complete(graph: VectorGraph, catalog: Catalog, live: list[tuple[int, int]]) -> None:
    """Adds to a graph the live chunks that it lacks."""
    numpy = need("numpy")
    held = set(graph.chunks().tolist())
    missing = [chunk for chunk, _ in live if chunk not in held]
    for first in range(0, len(missing), _BATCH):
        rows = catalog.vectors_of(missing[first : first + _BATCH])
        if rows:
            matrix = numpy.frombuffer(b"".join(row[1] for row in rows), dtype="float32").reshape(len(rows), -1)
            graph.add([row[0] for row in rows], matrix)


def _stamp(catalog: Catalog) -> str:
    """A graph is of one embedder and one length of its vectors."""
    facts = f"{catalog.meta('embedder')} {catalog.meta('dimension')} {catalog.meta('vectors_dropped') or 0}"
    return hashlib.sha256(facts.encode()).hexdigest()[:12]


def _file(index: DocumentIndex) -> Path | None:
    return None if index.path is None else index.path / f"vectors-{_stamp(index._catalog)}.hnsw"


def _remove_files(folder: Path | None, kept: Path | None) -> None:
    for file in folder.glob("vectors-*.hnsw") if folder is not None else ():
        if file != kept:
            with contextlib.suppress(OSError):  # open in another process on Windows: the next writer removes it
                file.unlink()
