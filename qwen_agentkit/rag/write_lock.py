"""The right to write to an index: one holder over all processes and threads; it ends with its process.

The lock is a transaction on a small SQLite file, so it works alike on every system and the operating system releases
it when a process is killed.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.05


class WriteLock:
    """The lock of one index.

    Args:
        path: Its file; None for an index in memory, which only threads share.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._thread = threading.RLock()

    @contextmanager
    def hold(self, wait: float | None = None, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
        """Holds the lock for a `with` block.

        Args:
            wait: Seconds to wait for another writer; None is for ever.
            cancelled: Asked while waiting; when true, waiting ends.

        Raises:
            TimeoutError: Another writer held it for longer, or waiting was cancelled.
        """
        deadline = None if wait is None else time.monotonic() + wait

        def goes_on() -> bool:
            return (deadline is None or time.monotonic() < deadline) and not (cancelled is not None and cancelled())

        while not self._thread.acquire(timeout=_POLL_SECONDS):
            if not goes_on():
                raise self._busy(wait)
        try:
            connection = self._take(goes_on, wait) if self._path is not None else None
            try:
                yield
            finally:
                if connection is not None:
                    connection.close()
        finally:
            self._thread.release()

    def _take(self, goes_on: Callable[[], bool], wait: float | None) -> sqlite3.Connection:
        connection = sqlite3.connect(str(self._path), timeout=0, isolation_level=None, check_same_thread=False)
        try:
            while True:
                try:
                    connection.execute("BEGIN EXCLUSIVE")
                    return connection
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error):
                        raise
                if not goes_on():
                    raise self._busy(wait)
                time.sleep(_POLL_SECONDS)
        except BaseException:
            connection.close()
            raise

    def _busy(self, wait: float | None) -> TimeoutError:
        waited = "" if wait is None else f" within {wait:g} s"
        return TimeoutError(f"Another writer holds the index {str(self._path or 'in memory')!r}; not free{waited}.")
