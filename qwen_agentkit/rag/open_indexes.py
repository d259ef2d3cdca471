"""Indexes that stay open between questions: a bounded number, each for as long as anyone uses it."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.index_files import CATALOG_FILE


class SharedIndex:
    """An index that several users hold; it is closed when the last of them lets go, not under a search.

    Args:
        folder: Where it lies.
        options: What it is made with.
    """

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        self.index = DocumentIndex(folder, **options)
        self._catalog = folder / CATALOG_FILE
        self._opened = self._catalog.stat()
        weakref.finalize(self, self.index.close).atexit = False

    def is_in_place(self) -> bool:
        """Whether the files that were opened are still there: somebody may have removed the workspace."""
        try:
            return os.path.samestat(self._catalog.stat(), self._opened)
        except FileNotFoundError:
            return False


class OpenIndexes:
    """The indexes that were used last; usable from several threads.

    Args:
        most: How many stay open. Each takes about five file descriptors.
    """

    def __init__(self, most: int = 32) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[str, SharedIndex] = OrderedDict()

    def get(self, handle: str, folder: Path, **options: Any) -> SharedIndex:
        """The index of a folder, opened when it is not, or no longer in its place.

        Args:
            handle: What it is known by: the folder, and what else tells its options apart.
            folder: Where it lies; it is made.
            **options: As for `DocumentIndex`.
        """
        with self._lock:
            shared = self._held.get(handle)
            if shared is None or not shared.is_in_place():
                shared = self._held[handle] = SharedIndex(folder, options)
            self._held.move_to_end(handle)
            while len(self._held) > self.most:
                self._held.popitem(last=False)
        return shared

    def close(self, handle: str | None = None) -> None:
        """Closes an index at once, or all of them; harmless when it is not open."""
        with self._lock:
            handles = list(self._held) if handle is None else [handle]
            closing = [self._held.pop(one) for one in handles if one in self._held]
        for shared in closing:
            shared.index.close()
