"""Limits that the client keeps of itself: requests and tokens a minute, requests in flight.

They are shared by all threads and model objects of the process that ask the same service with the same key.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import RunCancelled
from qwen_agentkit.llm._transport import after_fork
from qwen_agentkit.llm.length import count_input_tokens
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel

_NAMES = ("requests_per_minute", "tokens_per_minute", "in_flight")
MINUTE = 60.0


class RateLimiter:
    """Keeps the requests to one service within its limits, first come, first served.

    Args:
        requests_per_minute: Requests begun in any 60 seconds; None is no limit.
        tokens_per_minute: Tokens sent in any 60 seconds; a request that is larger alone goes out alone.
        in_flight: Requests at the same time.
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        in_flight: int | None = None,
    ) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._most = in_flight
        self._changed = threading.Condition()
        self._begun: deque[tuple[float, int]] = deque()
        self._running = 0
        self._queue: deque[object] = deque()

    @contextlib.contextmanager
    def slot(self, messages: Sequence[Message], functions: Sequence[Mapping[str, Any]] = ()) -> Iterator[None]:
        """Waits until a request may go out; while inside it counts as in flight.

        Args:
            messages: What is sent; past thinking, which is not, does not count.
            functions: Schemas of the tools that are sent beside the messages.

        Raises:
            RunCancelled: The run was cancelled while waiting.
        """
        if self._requests is None and self._tokens is None and self._most is None:
            yield
            return
        self._wait(count_input_tokens(messages, functions) if self._tokens is not None else 0)
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _wait(self, tokens: int) -> None:
        run = current_run()
        ticket = object()
        unregister = run.cancel.on_cancel(self._wake) if run is not None else lambda: None
        with self._changed:
            self._queue.append(ticket)
            try:
                while True:
                    if run is not None and run.cancel.cancelled:
                        raise RunCancelled(run.cancel.reason or "cancelled")
                    seconds = self._seconds_to_wait(tokens) if self._queue[0] is ticket else None
                    if seconds == 0.0:
                        self._begun.append((time.monotonic(), tokens))
                        self._running += 1
                        return
                    self._changed.wait(seconds)
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
                unregister()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _seconds_to_wait(self, tokens: int) -> float | None:
        """0 when a request may go out now, None when only another's end can change that."""
        if self._most is not None and self._running >= self._most:
            return None
        now = time.monotonic()
        while self._begun and now - self._begun[0][0] >= MINUTE:
            self._begun.popleft()
        if self._requests is not None and len(self._begun) >= self._requests:
            return self._begun[0][0] + MINUTE - now
        if self._tokens is not None and self._begun and sum(sent for _, sent in self._begun) + tokens > self._tokens:
            return self._begun[0][0] + MINUTE - now
        return 0.0


_limiters: dict[tuple[Any, ...], RateLimiter] = {}
_lock = threading.Lock()
_NO_LIMIT = RateLimiter()


def _begin_anew() -> None:
    global _lock
    _lock = threading.Lock()
    _limiters.clear()


after_fork(_begin_anew)


def limiter_of(model: BaseChatModel) -> RateLimiter:
    """The limiter of a model, by its configuration's `rate_limits` (a dict of RateLimiter's arguments)."""
    limits = model.cfg.get("rate_limits")
    if not limits:
        return _NO_LIMIT
    values = check_rate_limits(limits)
    secret = hashlib.sha256(str(model.cfg.get("api_key") or "").encode()).hexdigest()[:16]
    key = (model.service, secret, *values)
    with _lock:
        if key not in _limiters:
            _limiters[key] = RateLimiter(*values)
        return _limiters[key]


def check_rate_limits(limits: Any) -> tuple[int | None, ...]:
    """The three limits of a configuration.

    Raises:
        ValueError: An unknown name, or a limit that is no whole number above 0.
    """
    if not isinstance(limits, Mapping) or set(limits) - set(_NAMES):
        raise ValueError(f"'rate_limits' is a dict with {', '.join(_NAMES)}, not {limits!r}")
    for name, value in limits.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"rate_limits[{name!r}] is a whole number above 0 or None, not {value!r}")
    return tuple(limits.get(name) for name in _NAMES)
