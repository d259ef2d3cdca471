"""Threads for runs: daemons, used again while they are warm, as many as there is work for.

How much work there may be at once is the board's business; nothing queues here.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from qwen_agentkit.log import logger

# Seconds that a thread without work stays.
_IDLE_SECONDS = 30.0


class Workers:
    """Runs functions in threads, each at once."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        # Threads that wait for work, less the work that waits for them.
        self._free = 0

    def do(self, function: Callable[[], object]) -> None:
        """Runs a function in a thread of its own, now."""
        with self._lock:
            fresh = self._free <= 0
            if not fresh:
                self._free -= 1
        if fresh:
            threading.Thread(target=self._live, args=(function,), name="qwen-agentkit-run", daemon=True).start()
        else:
            self._work.put(function)

    def _live(self, function: Callable[[], object]) -> None:
        while True:
            try:
                function()
            except Exception:
                logger.exception("A run's thread failed")
            with self._lock:
                self._free += 1
            try:
                function = self._work.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._free > 0:
                        self._free -= 1
                        return
                # Work was promised to this thread in the same moment.
                function = self._work.get()
