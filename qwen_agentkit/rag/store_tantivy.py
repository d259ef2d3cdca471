"""The usual store: tantivy over terms that this project cuts itself.

A chunk's terms are one field, cut at blanks, with counts and without places; a document can be taken out by its number.
A commit is atomic: a process killed at any moment leaves the last one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.text.bm25 import K1, lucene_idf

# How long a lock that no writer has is waited for.
_LOCK_SECONDS = 5.0
_HEAP_BYTES = 40_000_000
# What a chunk scores for a word that is nearly one of the query's: about a rare word's share.
_MISSPELT = 3.0
# A term of the query that no chunk holds is looked for with this many wrong letters.
_LENGTH_FOR_ONE_ERROR = 5
_LENGTH_FOR_TWO_ERRORS = 8


class TantivyStore:
    """An index of tantivy.

    Args:
        folder: Where it lies; it is made when missing. None keeps it in memory.

    Raises:
        MissingDependencyError: tantivy is not installed.
        ValueError: What lies in `folder` cannot be opened.
    """

    name = "tantivy"

    def __init__(self, folder: Path | None) -> None:
        self._tantivy: Any = need("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_unsigned_field("chunk", stored=True)
        builder.add_unsigned_field("document", indexed=True)
        builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        if folder is None:
            self._index = self._tantivy.Index(self._schema)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._index = self._tantivy.Index(self._schema, path=str(folder))
        self._index.config_reader(reload_policy="manual", num_warmers=0)
        self._index.reload()
        self._writer: Any = None
        self._lock = threading.Lock()

    def _open_writer(self) -> Any:
        with self._lock:
            if self._writer is None:
                # One thread makes one segment a commit; more threads make more files and are hardly faster here,
                # since cutting the terms takes longer than indexing them.
                self._writer = self._new_writer()
            return self._writer

    def _new_writer(self) -> Any:
        # The index's own lock keeps other writers out. What still holds tantivy's for a moment is a copy of its handle
        # in a process that another thread is just starting.
        until = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                return self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
            except ValueError as error:
                if "LockBusy" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def add(self, document: int, chunk: int, terms: list[str]) -> None:
        """Adds the terms of a chunk."""
        entry = self._tantivy.Document()
        entry.add_unsigned("chunk", chunk)
        entry.add_unsigned("document", document)
        entry.add_text("terms", " ".join(terms))
        self._open_writer().add_document(entry)

    def delete(self, document: int) -> None:
        """Takes out a document."""
        # By query: deleting by term takes the number for a signed one and finds nothing.
        query = self._tantivy.Query.term_query(self._schema, "document", document)
        self._open_writer().delete_documents_by_query(query)

    def commit(self) -> None:
        """Makes the changes lasting and visible."""
        with self._lock:
            if self._writer is not None:
                self._writer.commit()
        self._index.reload()

    def end_writing(self) -> None:
        """Waits for segments that are being merged, so that their number stays bounded, and drops the writer."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()
            self._index.reload()

    def refresh(self) -> None:
        """Sees what others have committed."""
        self._index.reload()

    def search(
        self, weights: dict[str, float], top_k: int, documents: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best chunks."""
        searcher = self._index.searcher()
        total = searcher.num_docs
        if not weights or not total or top_k < 1:
            return []
        query_class, should = self._tantivy.Query, self._tantivy.Occur.Should
        parts = []
        most = 0.0
        for term, weight in weights.items():
            holding = searcher.doc_freq("terms", term)
            most += weight * lucene_idf(min(holding, total), total) * (K1 + 1)
            if holding:
                query = query_class.term_query(self._schema, "terms", term, index_option="freq")
                parts.append((should, query_class.boost_query(query, weight)))
            elif len(term) >= _LENGTH_FOR_ONE_ERROR and term.isascii() and term.isalpha():
                errors = 1 if len(term) < _LENGTH_FOR_TWO_ERRORS else 2
                query = query_class.fuzzy_term_query(
                    self._schema, "terms", term, distance=errors, transposition_cost_one=True
                )
                parts.append((should, query_class.boost_query(query, _MISSPELT * weight)))
        if not parts:
            return []
        query = query_class.boolean_query(parts)
        if documents is not None:
            must = self._tantivy.Occur.Must
            allowed = query_class.term_set_query(self._schema, "document", list(documents))
            query = query_class.boolean_query([(must, query), (must, query_class.const_score_query(allowed, 0.0))])
        found = searcher.search(query, min(top_k, total), count=False)
        return [
            (searcher.doc(address)["chunk"][0], min(1.0, score / most)) for score, address in found.hits if score > 0
        ]

    def facts(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """Number of chunks, and of those with each term."""
        searcher = self._index.searcher()
        return searcher.num_docs, {term: searcher.doc_freq("terms", term) for term in terms}

    def close(self) -> None:
        """Drops the writer, if any; the rest has no handles that need closing."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.rollback()


def bytes_in(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
