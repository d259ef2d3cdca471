"""Requests that are sent again with the same key get the run that the first one began.

A key belongs to a user. It is remembered as long as its run is kept.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.run import ServerRun

LONGEST_KEY = 255


class IdempotencyKeys:
    """Runs by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[str, ServerRun]] = {}

    def run_for(self, user_id: str, key: str | None, request: Any, begin: Callable[[], ServerRun]) -> ServerRun:
        """The run of a request.

        Args:
            user_id: Whose request it is.
            key: Its key; None begins a run each time.
            request: What is asked, JSON-able.
            begin: Begins the run.

        Raises:
            RequestFailed: 400 for a key that is too long, 422 when the key came with another request before.
        """
        if key is None:
            return begin()
        if not key or len(key) > LONGEST_KEY:
            raise RequestFailed(400, f"An Idempotency-Key has 1 to {LONGEST_KEY} characters", "invalid_idempotency_key")
        text = json.dumps(request, sort_keys=True, ensure_ascii=False)
        asked = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        # Held over `begin`, so that two requests at once do not begin two runs.
        with self._lock:
            known = self._known.get((user_id, key))
            if known is None:
                run = begin()
                self._known[user_id, key] = (asked, run)
                return run
        if known[0] != asked:
            raise RequestFailed(422, "This Idempotency-Key came with another request before", "idempotency_key_reused")
        return known[1]

    def sweep(self, is_kept: Callable[[str], bool]) -> None:
        """Forgets keys whose runs are no longer kept."""
        with self._lock:
            self._known = {key: entry for key, entry in self._known.items() if is_kept(entry[1].id)}
