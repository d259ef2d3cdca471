"""`Link`: the bounded queue between two stages of live speech; a cancel ends every wait in it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

from qwen_agentkit.cancel import CancelToken

T = TypeVar("T")


class Ended(Exception):
    """No more items come."""


class Link(Generic[T]):
    """Items from one thread to another, in order. A full link pauses the producer.

    Args:
        size: Items that may wait.
        cancel: When it is cancelled, nothing is taken any more and nobody waits.
    """

    def __init__(self, size: int, cancel: CancelToken) -> None:
        self._size = size
        self._items: deque[T] = deque()
        self._condition = threading.Condition()
        self._over = False
        self._unlink = cancel.on_cancel(self._drop)

    def put(self, item: T) -> bool:
        """Adds an item, waiting for room; False when nobody will take it."""
        with self._condition:
            while len(self._items) >= self._size and not self._over:
                self._condition.wait()
            if self._over:
                return False
            self._items.append(item)
            self._condition.notify_all()
            return True

    def get(self, seconds: float | None = None) -> T:
        """The next item.

        Args:
            seconds: How long to wait; None is for ever.

        Raises:
            TimeoutError: None came in this time.
            Ended: None will come.
        """
        with self._condition:
            if not self._condition.wait_for(lambda: self._items or self._over, seconds):
                raise TimeoutError
            if not self._items:
                raise Ended
            item = self._items.popleft()
            self._condition.notify_all()
            return item

    def end(self) -> None:
        """No more items come; those that wait can still be taken."""
        with self._condition:
            self._over = True
            self._condition.notify_all()
        self._unlink()

    def _drop(self) -> None:
        with self._condition:
            self._over = True
            self._items.clear()
            self._condition.notify_all()
