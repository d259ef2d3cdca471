"""Texts that a model made, remembered by the hash of what they were made of."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any


class Remembered:
    """A small store of texts; the least recently used goes first. Threads may share it.

    Args:
        most: How many texts are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> str | None:
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key]

    def put(self, key: str, text: str) -> None:
        with self._lock:
            self._held[key] = text
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"most": self._most, "held": list(self._held.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Remembered.__init__(self, state["most"])
        self._held.update(state["held"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Remembered:
        copied = Remembered.__new__(Remembered)
        copied.__setstate__(self.__getstate__())
        return copied
