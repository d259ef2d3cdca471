"""A bounded channel between the thread that runs an agent and whoever reads, sync or async."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

QUEUE_SIZE = 256


class Channel:
    """Items from one producer thread to one reader. A full channel pauses the producer.

    Args:
        size: Items that may wait.
    """

    def __init__(self, size: int = QUEUE_SIZE) -> None:
        self._size = size
        self._items: deque[Any] = deque()
        self._condition = threading.Condition()
        self._finished = False
        self._closed = False
        self._error: BaseException | None = None
        self._wake: Callable[[], None] | None = None

    def put(self, item: Any) -> None:
        """Adds an item, waiting for room. Once the reader has left, items are dropped."""
        with self._condition:
            while len(self._items) >= self._size and not self._closed:
                self._condition.wait()
            if self._closed:
                return
            self._items.append(item)
            self._notify()

    def finish(self, error: BaseException | None = None) -> None:
        """Says that no more items come; the reader gets `error` raised after the last one."""
        with self._condition:
            self._finished = True
            self._error = error
            self._notify()

    def close(self) -> None:
        """Called by the reader when it leaves, so that the producer never waits for it."""
        with self._condition:
            self._closed = True
            self._items.clear()
            self._condition.notify_all()

    def _notify(self) -> None:
        self._condition.notify_all()
        if self._wake is not None:
            self._wake()

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._condition:
                while not self._items and not self._finished:
                    self._condition.wait()
                if not self._items:
                    break
                item = self._items.popleft()
                self._condition.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    async def aiter(self) -> AsyncGenerator[Any, None]:
        """The items for `async for`; waits on the running loop without blocking it."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()

        def wake() -> None:
            # The loop may be gone while the producer is still winding up.
            if not loop.is_closed():
                loop.call_soon_threadsafe(arrived.set)

        with self._condition:
            self._wake = wake
        try:
            while True:
                arrived.clear()
                with self._condition:
                    items = list(self._items)
                    self._items.clear()
                    finished = self._finished
                    self._condition.notify_all()
                for item in items:
                    yield item
                if items:
                    continue
                if finished:
                    break
                await arrived.wait()
        finally:
            with self._condition:
                self._wake = None
        if self._error is not None:
            raise self._error


def produce_in_thread(produce: Callable[[Callable[[Any], None]], None], name: str) -> Channel:
    """Starts `produce(put)` in a daemon thread with the caller's context variables.

    Args:
        produce: Does the work and calls `put` for each item; its exception reaches the reader.
        name: Name of the thread.

    Returns:
        The channel to read from.
    """
    channel = Channel()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            context.run(produce, channel.put)
        except BaseException as error:
            channel.finish(error)
        else:
            channel.finish()

    threading.Thread(target=work, name=name, daemon=True).start()
    return channel
