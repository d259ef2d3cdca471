"""One asyncio loop in a daemon thread, for async tools when the caller has no loop of its own."""

from __future__ import annotations

import asyncio
import os
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_pid: int | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's background loop, started at first use (again after a fork)."""
    global _loop, _pid
    with _lock:
        if _loop is None or _loop.is_closed() or _pid != os.getpid():
            _loop = asyncio.new_event_loop()
            _pid = os.getpid()
            threading.Thread(target=_loop.run_forever, name="qwen-agentkit-loop", daemon=True).start()
        return _loop
