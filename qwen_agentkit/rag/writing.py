"""How read documents get into an index and out of it again, so that a killed process leaves a whole state.

Every document goes through the same steps: it is written to the catalog as pending, its terms to the store, both
lasting; then one transaction makes it the document of its source in place of the old one; then the store forgets the
old one. A process killed between any two of them leaves an index that shows the old state or the new.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qwen_agentkit import settings
from qwen_agentkit.rag.catalog import Catalog, ChunkRow, Entry
from qwen_agentkit.rag.ingest import changed_pages, file_name, index_terms, text_hash
from qwen_agentkit.rag.report import AddReport, Problem

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex

# Chunks after which what was read is made visible; a crash loses no more than this.
_BATCH_CHUNKS = 2_000


class Writing:
    """What one call puts into an index and takes out of it, under the write lock.

    Args:
        index: The index.
    """

    def __init__(self, index: DocumentIndex) -> None:
        self._index = index
        self._catalog = index._catalog
        self._report = AddReport()
        self._batch: list[tuple[Entry, Sequence[ChunkRow]]] = []
        self._batch_chunks = 0
        self._known = _Known(self._catalog)
        self._cache = index.document_cache()

    def _put(self, entry: Entry, rows: Sequence[ChunkRow]) -> None:
        self._batch.append((entry, rows))
        self._batch_chunks += len(rows)
        if self._batch_chunks >= _BATCH_CHUNKS:
            self._flush()

    def _flush(self) -> None:
        """Makes what was read lasting and visible."""
        batch, self._batch, self._batch_chunks = self._batch, [], 0
        if not batch:
            return
        store = self._index._store
        written = []
        with self._catalog.transaction() as database:
            for entry, rows in batch:
                entry.added_at = time.time()
                written.append(self._catalog.write_pending(database, entry, rows))
        for (entry, rows), (document, numbers) in zip(batch, written, strict=True):
            for number, row in zip(numbers, rows, strict=True):
                store.add(document, number, index_terms(row.text, entry.title, file_name(entry.source), row.section))
        store.commit()
        with self._catalog.transaction() as database:
            for (entry, _), (document, _) in zip(batch, written, strict=True):
                known = self._known.get(entry.source)
                was_live = known is not None and known.state == "live"
                self._catalog.publish(database, document, entry.source)
                pages = changed_pages(known.page_hashes, entry.page_hashes) if known is not None and was_live else None
                self._catalog.write_change(database, entry.source, "updated" if was_live else "added", pages)
                (self._report.updated if was_live else self._report.added).append(entry.source)
                if entry.warnings:
                    self._report.warnings[entry.source] = entry.warnings
                if not entry.chunks:
                    reason = entry.warnings[0] if entry.warnings else "there is no text in it"
                    self._report.problems.append(Problem(entry.source, f"{entry.source}: {reason}", "EmptyDocument"))

    def _end(self) -> None:
        """The store forgets what the catalog no longer has."""
        self._index._take_out_dropped()
        if self._report.removed or self._report.updated:
            with self._catalog.transaction() as database:
                self._catalog.drop_stray_vectors(database)

    def _fail(self, entry: Entry, reason: str, kind: str) -> None:
        """A source that cannot be read. What was read of an older version is no longer what it says."""
        known = self._known.get(entry.source)
        with self._catalog.transaction() as database:
            self._catalog.write_failed(database, replace(entry, warnings=[f"{kind} {reason}"]))
            if known is not None and known.state == "live":
                self._catalog.write_change(database, entry.source, "removed", None)
        if known is not None and known.state == "live":
            self._report.removed.append(entry.source)
        self._report.problems.append(Problem(entry.source, reason, kind))

    def _drop(self, sources: Iterable[str]) -> None:
        for source in sources:
            entry = self._known.get(source)
            if entry is None:
                continue
            with self._catalog.transaction() as database:
                self._catalog.drop(database, source)
                if entry.state == "live":
                    self._catalog.write_change(database, source, "removed", None)
            if entry.kind == "file":
                self._forget(source)
            elif entry.kind == "url":
                self._forget_page(source)
            if entry.state == "live":
                self._report.removed.append(source)

    def _forget(self, path: str) -> None:
        """Erases a document's text from the cache of documents too."""
        if self._cache is not None:
            self._cache.forget(path)

    def _forget_page(self, url: str) -> None:
        """Erases what was fetched from an address."""
        folder = self._web_folder(url)
        for path in folder.rglob("*"):
            if path.is_file():
                self._forget(str(path))
        shutil.rmtree(folder, ignore_errors=True)  # it may never have been fetched

    def _web_folder(self, url: str) -> Path:
        """Where an address is fetched to: a folder of its own."""
        index = self._index
        base = index.path if index.path is not None else Path(settings.DEFAULT_WORKSPACE)
        return base / "web" / text_hash(url)[:32]

    def _stays(self, known: Entry) -> None:
        """The source is as it was; when it could not be read then, it cannot now."""
        if known.state == "failed":
            kind, reason = known.failure
            self._report.problems.append(Problem(known.source, reason, kind))
            return
        self._report.unchanged.append(known.source)
        if known.warnings:
            self._report.warnings[known.source] = known.warnings


class _Known:
    """What the catalog had of each source when it was first asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: dict[str, Entry | None] = {}

    def get(self, source: str) -> Entry | None:
        if source not in self._seen:
            self._seen[source] = self._catalog.entry(source)
        return self._seen[source]

    def forget(self, source: str) -> None:
        self._seen.pop(source, None)
