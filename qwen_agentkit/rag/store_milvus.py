"""Terms in Milvus, for an index that one machine cannot hold: its BM25 function over terms that this project cuts.

Milvus gets each passage's terms as a text that its `standard` analyzer cuts back into just these terms, on a server
and in milvus-lite alike. A word of the query that is misspelt is not looked for: Milvus has no fuzzy search by BM25.
Texts and places stay in the catalog.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any

from qwen_agentkit.log import logger
from qwen_agentkit.rag.milvus_server import ROWS, MilvusServer
from qwen_agentkit.rag.store import StorePlace
from qwen_agentkit.utils.text.bm25 import K1, B, lucene_idf

PREFIX = "qwen_agentkit"
# The most bytes that a text field of Milvus may hold.
_MOST_BYTES = 65_535
# How finely the weight of a term is told to Milvus, which takes a term's repetitions as its weight.
_MOST_REPEATS = 10


class MilvusStore:
    """The terms of one index in a collection of its own.

    Args:
        options: See `StoreChoice`.
        place: `key` is the collection's name behind the prefix.
        new: The collection is made.

    Raises:
        ValueError: There is no such collection, and it is not to be made.
        ConnectionError: The server does not answer.
    """

    name = "milvus"

    def __init__(self, options: Mapping[str, Any], place: StorePlace, new: bool = False) -> None:
        self.server = MilvusServer(options, place.folder.parent if place.folder is not None else None)
        self.collection, self.vector_collection = collections(options, place)
        self._lock = threading.Lock()
        self._rows: list[dict[str, Any]] = []
        self._deleted: list[int] = []
        self._counts: dict[str, int] = {}
        if new:
            self._make()
        elif not self.server.has(self.collection):
            self.server.close()
            raise ValueError(f"Milvus at {self.server.address} has no collection {self.collection!r}")

    def _make(self) -> None:
        kinds = self.server.types.DataType
        self.server.drop(self.vector_collection)
        self.server.make(
            self.collection,
            [
                {"field_name": "chunk", "datatype": kinds.INT64, "is_primary": True},
                {"field_name": "document", "datatype": kinds.INT64},
                {
                    "field_name": "terms",
                    "datatype": kinds.VARCHAR,
                    "max_length": _MOST_BYTES,
                    "enable_analyzer": True,
                    "enable_match": True,
                    "analyzer_params": {"tokenizer": "standard"},
                },
                {"field_name": "sparse", "datatype": kinds.SPARSE_FLOAT_VECTOR},
            ],
            {
                "field_name": "sparse",
                "index_type": "SPARSE_INVERTED_INDEX",
                "metric_type": "BM25",
                "params": {"bm25_k1": K1, "bm25_b": B},
            },
            bm25=True,
        )

    def add(self, document: int, chunk: int, terms: list[str]) -> None:
        """Adds the terms of a chunk."""
        text = " ".join(map(as_word, terms))
        if len(text.encode()) > _MOST_BYTES:
            logger.warning("a passage has more terms than Milvus takes; it is not found by the last of them")
            text = text.encode()[:_MOST_BYTES].decode("utf-8", "ignore").rpartition(" ")[0]
        self._rows.append({"chunk": chunk, "document": document, "terms": text})
        if len(self._rows) >= ROWS:  # what is sent before its time is of documents that nobody sees yet
            rows, self._rows = self._rows, []
            self.server.upsert(self.collection, rows)

    def delete(self, document: int) -> None:
        """Takes out a document."""
        self._deleted.append(document)

    def commit(self) -> None:
        """Sends the changes. Each request is whole; after a failure between two, the catalog counts."""
        rows, self._rows = self._rows, []
        deleted, self._deleted = self._deleted, []
        if deleted:
            self.server.delete(self.collection, deleted)
            if self.server.has(self.vector_collection):
                self.server.delete(self.vector_collection, deleted)
        self.server.upsert(self.collection, rows)
        self.refresh()

    def end_writing(self) -> None:
        """Drops what was not committed."""
        self._rows, self._deleted = [], []

    def refresh(self) -> None:
        """Forgets how often terms occur; Milvus itself always shows what was written."""
        with self._lock:
            self._counts.clear()

    def search(
        self, weights: dict[str, float], top_k: int, documents: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best chunks."""
        weighed = {term: weight for term, weight in weights.items() if weight > 0}
        if not weighed or top_k < 1:
            return []
        total, holding = self.facts(weighed)
        most = sum(weight * lucene_idf(holding[term], total) * (K1 + 1) for term, weight in weighed.items())
        if not any(holding.values()):
            return []
        least = max(min(weighed.values()), max(weighed.values()) / _MOST_REPEATS)
        words = [as_word(term) for term in weighed for _ in range(max(1, round(weighed[term] / least)))]
        found = self.server.nearest(self.collection, "sparse", " ".join(words), top_k, documents)
        # A server gives BM25 as it is, milvus-lite with its sign turned.
        return [(chunk, min(1.0, abs(score) * least / most)) for chunk, score in found]

    def facts(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """Number of chunks, and of those with each term; asked of Milvus once until something is written."""
        with self._lock:
            known = dict(self._counts)
        asked = {"": "", **{term: f"TEXT_MATCH(terms, '{as_word(term)}')" for term in terms}}
        fresh = {term: self.server.count(self.collection, asked[term]) for term in asked if term not in known}
        with self._lock:
            self._counts.update(fresh)
        known.update(fresh)
        return known[""], {term: min(known[term], known[""]) for term in terms}

    def close(self) -> None:
        """Closes the connection."""
        self.server.close()


def as_word(term: str) -> str:
    """A term as a word that Milvus's `standard` analyzer leaves whole: letters and digits as they are, others coded."""
    if term.isalnum() and term == term.lower() and not term.startswith("0x"):
        return term
    return f"0x{term.encode('utf-8', 'surrogatepass').hex()}"


def collections(options: Mapping[str, Any], place: StorePlace) -> tuple[str, str]:
    """Names of the collections of an index: of its terms, of its vectors."""
    name = f"{options.get('prefix') or PREFIX}_{place.key}"
    return name, f"{name}_vectors"


def erase_collections(options: Mapping[str, Any], place: StorePlace) -> None:
    """Removes the collections of an index."""
    server = MilvusServer(options, place.folder.parent if place.folder is not None else None)
    try:
        for name in collections(options, place):
            server.drop(name)
    finally:
        server.close()
