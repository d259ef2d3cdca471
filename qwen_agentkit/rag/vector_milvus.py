"""Vectors in Milvus, beside the terms of the same index. The catalog keeps them too, so nothing is embedded twice."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.utils.optional import need

# Facts of the catalog: what has been sent.
_SENT = "vectors_sent"
_BATCH = 500


class MilvusVectors:
    """The vectors of one index in a collection of their own.

    Args:
        store: The index's store in Milvus.
    """

    def __init__(self, store: Any) -> None:
        self._server = store.server
        self._collection = store.vector_collection
        self._count = self._server.count(self._collection) if self._server.has(self._collection) else 0

    def __len__(self) -> int:
        return self._count

    def search(self, vector: Any, top_k: int, documents: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The nearest chunks; Milvus chooses how it looks for them."""
        if not self._count:
            return []
        return self._server.nearest(self._collection, "vector", [float(one) for one in vector], top_k, documents)


def send_vectors(catalog: Catalog, store: Any) -> None:
    """Sends the vectors that Milvus lacks.

    The catalog remembers up to which chunk all have been sent, to which collection and by which embedder; where that
    is another one now, or its vectors have another length, the collection is made anew.
    """
    server, collection = store.server, store.vector_collection
    dimension = catalog.meta("dimension")
    if not dimension:
        return
    made_for = [collection, catalog.meta("embedder"), int(dimension), catalog.meta("vectors_dropped")]
    sent = json.loads(catalog.meta(_SENT) or "[null, 0]")
    upto = int(sent[1])
    if sent[0] != made_for or not server.has(collection):
        kinds = server.types.DataType
        server.make(
            collection,
            [
                {"field_name": "chunk", "datatype": kinds.INT64, "is_primary": True},
                {"field_name": "document", "datatype": kinds.INT64},
                {"field_name": "vector", "datatype": kinds.FLOAT_VECTOR, "dim": int(dimension)},
            ],
            {"field_name": "vector", "index_type": "AUTOINDEX", "metric_type": "COSINE"},
        )
        upto = 0
    numpy = need("numpy")
    whole_to = catalog.vectors_whole_to()
    last = upto
    while rows := catalog.vectors(last, _BATCH):
        server.upsert(
            collection,
            [
                {"chunk": chunk, "document": document, "vector": numpy.frombuffer(vector, dtype="float32").tolist()}
                for chunk, document, vector in rows
            ],
        )
        last = rows[-1][0]
    catalog.set_meta(_SENT, json.dumps([made_for, max(upto, whole_to)]))
