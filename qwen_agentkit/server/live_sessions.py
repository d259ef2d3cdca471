"""The sessions that a server has in memory: those in use, and those used a short while ago."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from qwen_agentkit.session.session import Session
from qwen_agentkit.session.store import SessionStore


@dataclass
class LiveSession:
    """A session in memory.

    Args:
        session: The stored session.
        used_at: When it was last asked for, on the monotonic clock.
    """

    session: Session
    used_at: float


class LiveSessions:
    """Sessions by user and id. What leaves memory stays in the store.

    Args:
        store: Where sessions are kept.
        idle_seconds: After this time without use a session leaves memory.
    """

    def __init__(self, store: SessionStore, idle_seconds: float) -> None:
        self.store = store
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._live: dict[tuple[str, str], LiveSession] = {}

    def __len__(self) -> int:
        return len(self._live)

    def open(self, user_id: str, session_id: str | None) -> Session:
        """The session of that id, made when it is new; asks the store, unless it is in memory."""
        held = self._held(user_id, session_id) if session_id is not None else None
        if held is not None:
            return held
        session = self.store.session(session_id, user_id)
        return self._keep(session)

    def find(self, user_id: str, session_id: str) -> Session | None:
        """The session of that id, None when there is none."""
        session = self.store.find(session_id, user_id)
        if session is None:
            self.forget(user_id, session_id)
            return None
        return self._keep(session)

    def forget(self, user_id: str, session_id: str) -> None:
        """The session was deleted."""
        with self._lock:
            self._live.pop((user_id, session_id), None)

    def forget_user(self, user_id: str) -> None:
        """All sessions of the user were deleted."""
        with self._lock:
            self._live = {key: live for key, live in self._live.items() if key[0] != user_id}

    def sweep(self, in_use: set[tuple[str, str]]) -> list[tuple[str, str]]:
        """Lets go of sessions that nobody used for long.

        Args:
            in_use: Keys of sessions that have a run, whose time begins anew.

        Returns:
            Keys of those that left.
        """
        now = time.monotonic()
        with self._lock:
            for key in in_use & set(self._live):
                self._live[key].used_at = now
            idle = [key for key, live in self._live.items() if now - live.used_at >= self._idle_seconds]
            for key in idle:
                del self._live[key]
        return idle

    def _held(self, user_id: str, session_id: str) -> Session | None:
        with self._lock:
            live = self._live.get((user_id, session_id))
            if live is None:
                return None
            live.used_at = time.monotonic()
            return live.session

    def _keep(self, session: Session) -> Session:
        with self._lock:
            live = self._live.setdefault(session.key, LiveSession(session, 0.0))
            live.used_at = time.monotonic()
            return live.session
