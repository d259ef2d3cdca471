"""A bounded pool of daemon threads.

`concurrent.futures.ThreadPoolExecutor` joins its threads when the process ends, so one hanging tool would hold
up the exit; these threads are daemons. Work started from inside other work has its own level with its own
bound, so a tool that is itself an agent with tools can never wait for a place that only it could free.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

_level: contextvars.ContextVar[int] = contextvars.ContextVar("qwen_agentkit_pool_level", default=0)


class PoolFuture(Future):
    """A future whose work may be given up: `abandon` frees its place while the thread may still run."""

    _release: Callable[[], None]

    def abandon(self) -> None:
        self.cancel()
        self._release()


class DaemonPool:
    """Runs functions in daemon threads.

    Args:
        size: How many run at once on one level; the rest wait their turn.
        name: Prefix of the threads' names.
    """

    def __init__(self, size: int, name: str = "qwen-agentkit") -> None:
        self._size = max(1, size)
        self._name = name
        self._lock = threading.Lock()
        self._running: dict[int, int] = {}
        self._waiting: dict[int, deque[Callable[[], None]]] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        # A child process has none of the threads that would free the places.
        self._lock = threading.Lock()
        self._running = {}
        self._waiting = {}

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> PoolFuture:
        """Starts `function` with a copy of the caller's context variables, now or when a place is free.

        Returns:
            A future with the function's result or exception.
        """
        level = _level.get()
        context = contextvars.copy_context()
        context.run(_level.set, level + 1)
        future = PoolFuture()
        released = threading.Event()

        def release() -> None:
            with self._lock:
                if released.is_set():
                    return
                released.set()
                waiting = self._waiting.get(level)
                following = waiting.popleft() if waiting else None
                if following is None:
                    self._running[level] = self._running.get(level, 1) - 1
            if following is not None:
                following()

        def work() -> None:
            try:
                if future.set_running_or_notify_cancel():
                    try:
                        result = context.run(function, *args, **kwargs)
                    except BaseException as error:
                        future.set_exception(error)
                    else:
                        future.set_result(result)
            finally:
                release()

        def start() -> None:
            threading.Thread(target=work, name=f"{self._name}-{level}", daemon=True).start()

        # Work that never began has no place to free: its queued start finds the future cancelled.
        future._release = lambda: release() if future.running() else None
        with self._lock:
            free = self._running.get(level, 0) < self._size
            if free:
                self._running[level] = self._running.get(level, 0) + 1
            else:
                self._waiting.setdefault(level, deque()).append(start)
        if free:
            start()
        return future
