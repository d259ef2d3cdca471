"""`CancelToken`: how anything outside a run asks it to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from qwen_agentkit.errors import RunCancelled
from qwen_agentkit.log import logger


class CancelToken:
    """A switch that is thrown once, from any thread, and seen by everything that works for the run.

    Args:
        parent: Another token; when it is cancelled, so is this one (not the other way round).
    """

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], object]] = {}
        self._reason: str | None = None
        self._unlink: Callable[[], None] = lambda: None
        if parent is not None:
            self._unlink = parent.on_cancel(lambda: self.cancel(parent.reason or "cancelled"))

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    @property
    def reason(self) -> str | None:
        """Why it was cancelled (`cancelled` unless a reason was given); None while it is not."""
        return self._reason

    def cancel(self, reason: str = "cancelled") -> None:
        """Throws the switch and runs the callbacks in this thread. Further calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            try:
                callback()
            except Exception:
                # One deaf listener must not keep the others from hearing.
                logger.exception("A cancel callback failed")

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Runs `callback()` when the token is cancelled, at once if it is already.

        Returns:
            A function that takes the callback off again.
        """
        key = object()
        with self._lock:
            if not self._event.is_set():
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def wait(self, seconds: float | None = None) -> bool:
        """Sleeps until the token is cancelled or the time is over; True when it is cancelled."""
        return self._event.wait(seconds)

    def raise_if_cancelled(self) -> None:
        """Raises RunCancelled when the token is cancelled."""
        if self._event.is_set():
            raise RunCancelled(self._reason or "cancelled")

    def detach(self) -> None:
        """Takes this token off its parent, so that a long-lived parent does not gather ended runs."""
        self._unlink()

    def __repr__(self) -> str:
        return f"CancelToken({self._reason!r})" if self.cancelled else "CancelToken()"

    def __deepcopy__(self, memo: dict[int, object]) -> CancelToken:
        # A token is an identity: a copy that nobody can cancel would be a trap.
        return self
