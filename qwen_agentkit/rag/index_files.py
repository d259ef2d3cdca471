"""The files of an index: opened, kept in step between processes, written under a lock, made anew when need be.

A folder holds the catalog (`catalog.sqlite`), the store of terms (`terms-<n>`, or collections of a server, made anew
beside the old one when the way of cutting terms changes or it is damaged), and the write lock. Without a folder
everything is in memory.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qwen_agentkit.log import logger
from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.ingest import file_name, index_terms
from qwen_agentkit.rag.store import Store, StoreChoice, StorePlace, erase_store, open_store
from qwen_agentkit.rag.write_lock import WriteLock
from qwen_agentkit.utils.text.segment import SEGMENT_VERSION

CATALOG_FILE = "catalog.sqlite"
LOCK_FILE = "write.lock"


class IndexFiles:
    """The open files of an index.

    Args:
        path: Folder of the index; None keeps it in memory.
        store: Which store of terms.
    """

    def __init__(self, path: Path | None, store: StoreChoice) -> None:
        self.path = path
        self._choice = store
        self._closed = False
        self._lock = threading.RLock()
        self._pid = 0
        # Handles of the process that this one was forked from: closing them here could harm it.
        self._abandoned: list[Any] = []
        self._catalog: Catalog
        self._store: Store
        # What is held in memory of the catalog as it is now: its vectors, its numbers.
        self._vectors: Any = None
        self._totals: dict[str, int] | None = None
        # Of many vectors: what it is of, and the graph (`qwen_agentkit.rag.vector_graph`).
        self.graph: tuple[str, Any] | None = None
        self._seen: tuple[int, str | None] = (-1, None)
        self._open()

    def _open(self) -> None:
        if self.path is not None:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write_lock = WriteLock(None if self.path is None else self.path / LOCK_FILE)
        self._catalog = Catalog(None if self.path is None else self.path / CATALOG_FILE)
        self._pid = os.getpid()
        self._vectors = self._totals = None
        try:
            self._open_store()
        except BaseException:
            self._catalog.close()
            raise

    def _open_store(self) -> None:
        if self._try_store():
            return
        with self._write_lock.hold():
            if not self._try_store():  # another process may have made it meanwhile
                self._rebuild()

    def _try_store(self) -> bool:
        """Opens the store as it lies there; false when it is to be made (anew)."""
        place = self._place()
        on_disk = self._choice.name == "tantivy"
        as_now = self._catalog.meta("segments") == self._segments(self._choice.name)
        if self._choice.lasts(self.path):
            there = place is not None and (not on_disk or (place.folder is not None and place.folder.is_dir()))
            if not there or not as_now:
                return False
        try:
            self._store = open_store(self._choice, place, self._load_terms)
        except ValueError as error:
            logger.warning("the terms of the index %s cannot be read and are made anew: %s", self.path, error)
            return False
        self._seen = self._state()
        return True

    def _segments(self, store: str) -> str:
        return f"{store}-{SEGMENT_VERSION}"

    def _place(self, terms: str | None = None) -> StorePlace | None:
        """Where the store of a name lies, the catalog's unless one is given; None before there is one."""
        name = terms or self._catalog.meta("terms")
        if name is None or not self._choice.lasts(self.path):
            return None
        key = f"{self._catalog.meta('key')}_{name.rpartition('-')[2]}"
        return StorePlace(None if self.path is None else self.path / name, key)

    def _load_terms(self) -> Iterator[tuple[int, int, list[str]]]:
        for document, hit in self._catalog.every_chunk():
            yield hit.chunk, document, terms_of(hit)

    def _rebuild(self) -> None:
        """Makes the store anew from the catalog's texts, beside the old one, and then puts it in its place."""
        old = self._catalog.meta("terms")
        new = f"terms-{int((old or 'terms-0').rpartition('-')[2]) + 1}"
        if self._catalog.meta("key") is None:
            self._catalog.set_meta("key", uuid.uuid4().hex)
        place = self._place(new)
        if place is not None:
            erase_store(self._choice, place)  # of a writer that was killed at this point
        store = open_store(self._choice, place, self._load_terms, new=True)
        if store.name != "memory":
            for chunk, document, terms in self._load_terms():
                store.add(document, chunk, terms)
            store.commit()
            store.end_writing()
        with self._catalog.transaction() as database:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('terms', ?)", (new,))
            database.execute("INSERT OR REPLACE INTO meta VALUES ('segments', ?)", (self._segments(store.name),))
            database.execute("INSERT OR REPLACE INTO meta VALUES ('dead', '0')")
            database.execute("DELETE FROM dropped")
        before = self._place(old) if old is not None else None
        self._store = store
        self._seen = self._state()
        if before is not None:
            erase_store(self._choice, before)
        if self.path is not None and old is not None:
            shutil.rmtree(self.path / old, ignore_errors=True)  # of another kind of store, before

    def _state(self) -> tuple[int, str | None]:
        return self._catalog.version(), self._catalog.meta("terms")

    def _ready(self) -> None:
        """Raises after `close`, opens anew after a fork, and sees what others have written."""
        if self._closed:
            raise ValueError("This DocumentIndex is closed")
        with self._lock:
            if self._pid != os.getpid():
                if self.path is None:
                    self._pid = os.getpid()  # an index in memory was copied whole
                else:
                    self._abandoned += [self._catalog, self._store]
                    self._open()
            version = self._catalog.version()
            if version == self._seen[0]:
                return
            terms = self._catalog.meta("terms")
            if terms != self._seen[1] and self._store.name != "memory":
                self._store = open_store(self._choice, self._place(), self._load_terms)
            else:
                self._store.refresh()
            self._vectors = self._totals = None
            self._seen = (version, terms)

    @contextmanager
    def _writing(self, wait: float | None, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
        """The right to write, with what a killed writer left put in order."""
        self._ready()
        with self._write_lock.hold(wait, cancelled):
            self._ready()
            try:
                self._catalog.clear_pending()
                self._take_out_dropped()
                yield
            finally:
                self._store.end_writing()
                if self._catalog.meta("segments") != self._segments(self._store.name):
                    # Written without tantivy: whoever has it makes its store anew.
                    self._catalog.set_meta("segments", self._segments(self._store.name))
                self._catalog.settle()
                self._vectors = self._totals = None
                self._seen = self._state()

    def _take_out_dropped(self) -> None:
        dropped = self._catalog.dropped()
        if dropped:
            for document in dropped:
                self._store.delete(document)
            self._store.commit()
            self._catalog.forget_dropped(dropped)

    def close_files(self) -> None:
        """Closes everything; harmless when it is closed already, and in a process that was forked."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._pid == os.getpid():
                place = self._place() if self.path is None else None
                self._store.close()
                self._catalog.close()
                if place is not None:
                    erase_store(self._choice, place)  # on a server, of an index that nobody can open again
            self._vectors = self.graph = None

    def disk_bytes(self) -> int:
        """Size of all files; 0 in memory."""
        if self.path is None:
            return 0
        size = 0
        for parent, _, files in os.walk(self.path):
            for name in files:
                try:
                    size += os.path.getsize(os.path.join(parent, name))
                except FileNotFoundError:
                    continue  # a segment that was merged away meanwhile
        return size


def terms_of(hit: Hit) -> list[str]:
    """The terms that a passage is indexed under."""
    return index_terms(hit.text, hit.title, file_name(hit.source), hit.section)
