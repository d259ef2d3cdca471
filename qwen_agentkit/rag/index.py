"""`DocumentIndex`: documents indexed once, found by their terms (and, with an embedder, by their meaning).

    with DocumentIndex("workspace/handbook") as index:
        index.add("handbook/")
        for hit in index.search("guarantee of the motor", top_k=3):
            print(hit.score, hit.source, hit.page, hit.text[:80])

On disk an index is a folder with a catalog (texts, places, what changed) and a store of terms. Any number of threads
and processes may search it; one writes at a time and others wait. A writer that is killed leaves the last whole state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.rag.catalog import Entry
from qwen_agentkit.rag.changes import rests_on
from qwen_agentkit.rag.chunking import MIN_CHUNK_TOKENS
from qwen_agentkit.rag.explain import Explanation, explain_hit
from qwen_agentkit.rag.filters import Filter, HitFilter
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.index_files import IndexFiles, terms_of
from qwen_agentkit.rag.report import AddReport, Change
from qwen_agentkit.rag.searching import search_passages
from qwen_agentkit.rag.store import StoreChoice

if TYPE_CHECKING:
    from qwen_agentkit.rag.cache import DocumentCache
    from qwen_agentkit.rag.embedders import Embedder
    from qwen_agentkit.rag.rerankers import Reranker
    from qwen_agentkit.rag.spread import Spreader
    from qwen_agentkit.rag.vector_index import VectorIndex
    from qwen_agentkit.rag.workers import ReadProgress

# Beyond the number of any passage.
_END = 1 << 31
# Removed chunks that stay in the store until it is made anew: as many as this, or this share of what is left.
_DEAD_CHUNKS = 2_000
_DEAD_SHARE = 0.25


class DocumentIndex(IndexFiles):
    """An index of documents.

    Args:
        path: Folder of the index, made when missing; None keeps it in memory, private to this object.
        embedder: Finds by meaning too: what `qwen_agentkit.rag.embedders.get_embedder` takes.
        store: `tantivy`; `memory` for small sets (rank-bm25); or Milvus, for what one machine cannot hold: `{"name":
            "milvus", "uri": "http://host:19530", "token": ...}`, or `milvus` alone for milvus-lite in the folder.
        chunk_tokens: The most tokens of a passage; None is `settings.DEFAULT_PARSER_PAGE_SIZE`.
        overlap_tokens: As for `chunk_document`.
        reranker: Puts the first hits into a better order: what `qwen_agentkit.rag.rerankers.get_reranker` takes.
        cache: Where documents that were read are kept; None is the workspace's for an index on disk, and none for one
            in memory.
        reading: Further options of `read_documents`: `password`, `engine`, `tables`, `ocr`, `limits`, `seconds`,
            `memory`, `workers`.

    Raises:
        ValueError: `path` is a file, or an index that cannot be read, or an option is none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        embedder: Embedder | Callable[..., Any] | Mapping[str, Any] | str | None = None,
        store: str | Mapping[str, Any] = "tantivy",
        *,
        chunk_tokens: int | None = None,
        overlap_tokens: int | None = None,
        reranker: Reranker | Callable[..., Any] | Mapping[str, Any] | str | None = None,
        cache: DocumentCache | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        choice = StoreChoice.read(store)
        if chunk_tokens is not None and chunk_tokens < MIN_CHUNK_TOKENS:
            raise ValueError(f"chunk_tokens is {MIN_CHUNK_TOKENS} or more, not {chunk_tokens!r}")
        folder = None if path is None else Path(os.path.abspath(os.path.expanduser(path)))
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ValueError(f"An index is a folder; {str(folder)!r} is a file")
        if reading:
            from qwen_agentkit.rag.ingest import check_reading

            check_reading(reading)
        self.embedder: Embedder | None = None
        self.reranker: Reranker | None = None
        if embedder is not None:
            from qwen_agentkit.rag.embedders import get_embedder

            self.embedder = get_embedder(embedder)
        if reranker is not None:
            from qwen_agentkit.rag.rerankers import get_reranker

            self.reranker = get_reranker(reranker)
        self.chunk_tokens = chunk_tokens or settings.DEFAULT_PARSER_PAGE_SIZE
        self.overlap_tokens = overlap_tokens
        self.reading = dict(reading or {})
        self._cache = cache
        self._own_cache: DocumentCache | None = None
        super().__init__(folder, choice)

    # ---- life

    def close(self) -> None:
        """Closes the index; every later call raises ValueError. Closing twice does nothing."""
        if self._own_cache is not None:
            self._own_cache.close()
        self.close_files()

    def __enter__(self) -> DocumentIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise TypeError("A DocumentIndex in memory cannot be copied; give it a path")
        return _reopened, (
            str(self.path),
            self.embedder,
            {"name": self._choice.name, **self._choice.options},
            {
                "chunk_tokens": self.chunk_tokens,
                "overlap_tokens": self.overlap_tokens,
                "reranker": self.reranker,
                "cache": self._cache,
                "reading": self.reading,
            },
        )

    def __repr__(self) -> str:
        return f"DocumentIndex({str(self.path) if self.path else None!r}{', closed' if self._closed else ''})"

    # ---- writing

    def add(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        progress: Callable[[ReadProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        wait: float | None = None,
        executor: str | Spreader | None = None,
    ) -> AddReport:
        """Brings the index up to date with files, folders, patterns and addresses.

        A file that did not change costs a stat, an address a question to its server. A folder is reconciled: files
        that are gone from it are removed, sources elsewhere stay. What cannot be read is a problem of the report.

        Args:
            paths: One or several.
            progress: Called as files and pages are read.
            cancelled: Asked now and then; when true, what is done so far stays and the rest is left.
            wait: Seconds to wait for another writer; None is for ever.
            executor: Where files are read: `ray` for the Ray cluster this process is connected to, or any
                `concurrent.futures.Executor`; None is the worker processes of this machine.

        Raises:
            ValueError: A path is no path, the executor is none, or the index is closed.
            TimeoutError: Another writer did not finish in time.
        """
        from qwen_agentkit.rag.adding import Adding

        spreader = None
        if executor is not None:
            from qwen_agentkit.rag.spread import get_executor

            spreader = get_executor(executor)
        with self._writing(wait, cancelled):
            report = Adding(self, progress, cancelled, spreader).add_sources(paths)
            self._after_writing(report)
        return report

    def add_texts(
        self, texts: Iterable[tuple[str, str] | tuple[str, str, str]], *, wait: float | None = None
    ) -> AddReport:
        """Adds texts under ids of your own; a text under a known id replaces it.

        Args:
            texts: (id, text) or (id, text, title) for each.
            wait: Seconds to wait for another writer.

        Raises:
            ValueError: An entry has another shape.
        """
        from qwen_agentkit.rag.adding import Adding

        with self._writing(wait):
            report = Adding(self, None, None).add_texts(texts)
            self._after_writing(report)
        return report

    def remove(
        self, sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, wait: float | None = None
    ) -> list[str]:
        """Removes documents and erases their text, also from the cache of documents.

        Args:
            sources: Paths, folders (all below them), addresses or ids.
            wait: Seconds to wait for another writer.

        Returns:
            The sources that were there and are gone.

        Raises:
            ValueError: A name is empty or no text.
        """
        from qwen_agentkit.rag.adding import Adding

        with self._writing(wait):
            removed = Adding(self, None, None).remove(sources)
            self._after_writing(AddReport(removed=removed))
        return removed

    def document_cache(self) -> DocumentCache | None:
        """Where documents that were read are kept; None for an index in memory that was given none."""
        if self._cache is None and self.path is not None:
            from qwen_agentkit.rag.cache import DocumentCache

            if self._own_cache is None:
                self._own_cache = DocumentCache()
            return self._own_cache
        return self._cache

    def _after_writing(self, report: AddReport) -> None:
        if report.changed:
            totals = self._catalog.totals()
            dead = int(self._catalog.meta("dead") or 0)
            # A small store is made anew at once, so that not even the words of what was removed stay on disk.
            if dead and (totals["chunks"] <= _DEAD_CHUNKS or dead > _DEAD_SHARE * totals["chunks"]):
                self._store.end_writing()
                self._rebuild()
        if self.embedder is not None:
            from qwen_agentkit.rag.vector_index import settle_vectors
            from qwen_agentkit.rag.vectors import fill_vectors

            fill_vectors(self._catalog, self.embedder, report)
            settle_vectors(self)

    def clean(self, *, wait: float | None = None) -> int:
        """Gives back disk space: makes the store of terms anew and packs the catalog.

        Returns:
            Bytes that were freed.
        """
        before = self.stats["bytes"]
        with self._writing(wait):
            self._rebuild()
            if self.embedder is not None:
                from qwen_agentkit.rag.vector_graph import drop_graph
                from qwen_agentkit.rag.vector_index import settle_vectors

                drop_graph(self)
                settle_vectors(self)
            self._catalog.compact()
        return max(0, before - self.stats["bytes"])

    # ---- searching

    def search(self, query: str, top_k: int = 10, filter: Filter = None) -> list[Hit]:
        """The passages that fit a query best.

        Args:
            query: A question or words, in any language.
            top_k: The most hits.
            filter: None, a dict (`source`: paths, folders, patterns or ids; `file_type`; `page`: a number or (first,
                last); `sheet`; `section`: a part of it), or a function from a hit to whether it counts.

        Raises:
            ValueError: `query` is no text, `top_k` is below 1, `filter` is not understood, or the index is closed.
        """
        if not isinstance(query, str):
            raise ValueError(f"The query is text, not {type(query).__name__}")
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"top_k is a whole number, 1 or more, not {top_k!r}")
        self._ready()
        return search_passages(self, query, top_k, HitFilter.read(filter))

    def vectors(self) -> VectorIndex:
        """The vectors of the passages, ready to be searched."""
        self._ready()
        with self._lock:
            if self._vectors is None:
                from qwen_agentkit.rag.vector_index import open_vectors

                self._vectors = open_vectors(self)
            return self._vectors

    def fit_fusion(self, labelled: Sequence[tuple[str, str]], *, wait: float | None = None) -> float:
        """Finds what the search by terms should weigh beside the embedder, from questions with known answers.

        Args:
            labelled: (question, source that answers it), some dozens at least.
            wait: Seconds to wait for another writer.

        Returns:
            The weight, 0.0 (meaning alone) to 1.0 (terms alone), which is kept in the index for this embedder. The
            joined search is then no worse on these questions than the better of the two.

        Raises:
            ValueError: There is no embedder, or no question.
        """
        from qwen_agentkit.rag.vectors import best_weight, keep_weight

        if self.embedder is None or not labelled:
            raise ValueError("fit_fusion needs an embedder and questions with the sources that answer them")
        self._ready()
        weight = best_weight(self, labelled)
        with self._writing(wait):
            keep_weight(self._catalog, self.embedder, weight)
        return weight

    def explain(self, hit: Hit) -> Explanation:
        """What a hit's score is made of: each term's part, its ranks in a hybrid search."""
        self._ready()
        return explain_hit(hit, self._store, terms_of(hit))

    def chunks(self, source: str, first: int = 0, last: int | None = None) -> list[Hit]:
        """Passages of a document in reading order, all or those from `first` to `last`; [] for an unknown one."""
        self._ready()
        return self._catalog.chunks_of(
            source, None if first == 0 and last is None else (first, _END if last is None else last)
        )

    def neighbours(self, hit: Hit, before: int = 1, after: int = 1) -> list[Hit]:
        """The passages around a hit, itself included, in reading order."""
        self._ready()
        return self._catalog.chunks_of(hit.source, (hit.number - before, hit.number + after))

    # ---- facts

    def entries(self) -> list[Entry]:
        """Everything that was added, what could not be read included, as the catalog has it."""
        self._ready()
        return self._catalog.entries()

    def stamped(self) -> Iterable[Entry]:
        """Everything that was added, with no more of each than tells whether it changed, and why it failed."""
        self._ready()
        return self._catalog.stamped()

    def names(self) -> list[str]:
        """The sources that it holds, in the order in which they came."""
        self._ready()
        return self._catalog.sources()

    def sources(self) -> list[dict[str, Any]]:
        """What the index holds, one dict a source: `source title file_type pages chunks tokens added_at warnings`."""
        self._ready()
        names = ("source", "title", "file_type", "pages", "chunks", "tokens", "added_at", "warnings")
        entries = sorted(self._catalog.entries("live"), key=lambda entry: entry.source)
        return [{name: getattr(entry, name) for name in names} for entry in entries]

    def changes(self, since: float | datetime = 0.0, citations: Iterable[Mapping[str, Any]] = ()) -> list[Change]:
        """What changed in the index after a moment, and which of your citations rested on it.

        Args:
            since: Seconds since the epoch, or a datetime.
            citations: Citations that you keep (`extra["citations"]` of answers). One rests on a change when its source
                is gone, its page changed, or (without pages) its quote is no longer there.

        Returns:
            One `Change` for each, in order of time.
        """
        self._ready()
        moment = since.timestamp() if isinstance(since, datetime) else float(since)
        kept = [dict(citation) for citation in citations]
        return [
            Change(
                row.source,
                row.kind,
                row.at,
                row.pages,
                [c for c in kept if rests_on(c, row, self._catalog)],
            )
            for row in self._catalog.changes(moment)
        ]

    def totals(self) -> dict[str, int]:
        """`documents chunks tokens characters failed vectors`: what `stats` says without a look at the disk."""
        self._ready()
        with self._lock:
            if self._totals is None:
                self._totals = self._catalog.totals()
            return dict(self._totals)

    @property
    def stats(self) -> dict[str, Any]:
        """`documents chunks tokens characters failed vectors bytes store embedder path`."""
        return {
            **self.totals(),
            "bytes": self.disk_bytes(),
            "store": self._store.name,
            "embedder": self._catalog.meta("embedder"),
            "path": None if self.path is None else str(self.path),
        }


def _reopened(path: str, embedder: Any, store: dict[str, Any], options: dict[str, Any]) -> DocumentIndex:
    return DocumentIndex(path, embedder, store, **options)
