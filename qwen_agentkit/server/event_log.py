"""The events of one run, numbered: written by the run's thread, read by any number of HTTP streams.

A run is paused while it is too far ahead of its fastest reader, so a slow client slows only its own run. Readers
wait on their event loop, and only a reader that waits is woken.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

SNAPSHOT = "snapshot"

# Entries that a run may be ahead of its fastest reader, and entries that are kept for those who come back.
AHEAD = 256
KEPT = 10_000


class Entry(NamedTuple):
    """One event.

    Args:
        number: Its place in the run, from 1; the `id:` of a server-sent event.
        type: What happened.
        data: The facts, JSON-able.
    """

    number: int
    type: str
    data: dict[str, Any]


class EventLog:
    """The events of a run.

    Args:
        waits_for_readers: Whether the run pauses when it is `AHEAD` entries ahead of its readers.
        snapshot: What a reader gets who asks for entries that are no longer kept: the state of the run.
        stalled: Called when the run has waited `stalled_seconds` for a reader.
        stalled_seconds: See there.
    """

    def __init__(
        self,
        waits_for_readers: bool = True,
        snapshot: Callable[[], dict[str, Any]] = dict,
        stalled: Callable[[], object] = lambda: None,
        stalled_seconds: float = 300.0,
    ) -> None:
        self._waits = waits_for_readers
        self._snapshot = snapshot
        self._stalled = stalled
        self._stalled_seconds = stalled_seconds
        self._entries: deque[Entry] = deque()
        self._condition = threading.Condition()
        self._last = 0
        self._read = 0
        self._asleep: set[LogReader] = set()
        self.ended = False

    @property
    def last(self) -> int:
        """Number of the newest entry, 0 before the first."""
        return self._last

    def append(self, type: str, data: dict[str, Any]) -> None:
        """Adds an entry, waiting for room; after `end` nothing is added."""
        with self._condition:
            had_room = self._wait_for_room()
            self._add(type, data)
        if not had_room:
            self._stalled()

    def end(self, type: str, data: dict[str, Any]) -> None:
        """Adds the last entry, at once."""
        with self._condition:
            self._add(type, data)
            self.ended = True
            self._condition.notify_all()

    def release(self) -> None:
        """The run waits for readers no more; called when it is cancelled."""
        with self._condition:
            self._waits = False
            self._condition.notify_all()

    def reader(self, after: int = 0) -> LogReader:
        """A reader of the entries after that number, for one event loop."""
        return LogReader(self, min(max(0, after), self._last))

    def _wait_for_room(self) -> bool:
        while self._waits and not self.ended and self._last - self._read >= AHEAD:
            if not self._condition.wait(self._stalled_seconds):
                # Nobody reads: what follows is let through, so that the run can end.
                self._waits = False
                return False
        return True

    def _add(self, type: str, data: dict[str, Any]) -> None:
        if self.ended:
            return
        self._last += 1
        self._entries.append(Entry(self._last, type, data))
        if len(self._entries) > KEPT:
            self._entries.popleft()
        sleepers, self._asleep = self._asleep, set()
        for reader in sleepers:
            reader.wake()

    def take(self, reader: LogReader) -> list[Entry]:
        """The entries that a reader has not got; when there are none, it will be woken by the next."""
        with self._condition:
            first = self._entries[0].number if self._entries else self._last + 1
            skipped = max(0, reader.after + 1 - first)
            found = [] if reader.after >= self._last else _from(self._entries, skipped)
            if not found:
                self._asleep.add(reader)
                return []
            gap = reader.after + 1 < first
            reader.after = found[-1].number
            if reader.after > self._read:
                self._read = reader.after
                self._condition.notify_all()
        if gap:
            found.insert(0, Entry(first - 1, SNAPSHOT, self._snapshot()))
        return found

    def forget(self, reader: LogReader) -> None:
        """The reader has left."""
        with self._condition:
            self._asleep.discard(reader)


class LogReader:
    """Reads a log from an event loop.

    Args:
        log: The log.
        after: Number of the last entry that the reader has.
    """

    def __init__(self, log: EventLog, after: int) -> None:
        self._log = log
        self.after = after
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def wake(self) -> None:
        """Called by the run's thread."""
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            pass  # the loop is closed, and its reader with it

    async def batch(self, seconds: float) -> list[Entry]:
        """The entries that have come meanwhile, at least one; [] when none came in this time."""
        self._arrived.clear()
        if found := self._log.take(self):
            return found
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            return []
        return self._log.take(self)

    @property
    def at_end(self) -> bool:
        """Whether nothing more will come."""
        return self._log.ended and self.after >= self._log.last

    def close(self) -> None:
        """The reader leaves."""
        self._log.forget(self)


def _from(entries: deque[Entry], start: int) -> list[Entry]:
    """The entries from a place on; from the right end, since a reader usually lacks only the newest."""
    missing = len(entries) - start
    if missing * 2 > len(entries):
        return list(entries)[start:]
    newest = [entries[-offset] for offset in range(missing, 0, -1)]
    return newest
