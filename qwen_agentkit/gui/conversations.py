"""The stored conversations of the page's users: lists for the side bar, and branches for retry and edit."""

from __future__ import annotations

from collections.abc import Sequence

from qwen_agentkit import settings
from qwen_agentkit.gui.texts import say
from qwen_agentkit.schema import Message
from qwen_agentkit.session import Session, SessionStore

_MOST_LISTED = 100


class Conversations:
    """A store, and what happens in it.

    Args:
        address: See `SessionStore`.
        beginning: Messages with which every new conversation begins.

    Raises:
        ValueError, QwenAgentKitError: As of `SessionStore`.
    """

    def __init__(self, address: str | None, beginning: Sequence[Message] = ()) -> None:
        self.store = SessionStore(address, on_busy=settings.ON_BUSY or "follow_up")
        self._beginning = list(beginning)

    def close(self) -> None:
        """Closes the store."""
        self.store.close()

    def beginning(self) -> list[Message]:
        """What a new conversation begins with."""
        return list(self._beginning)

    def open(self, session_id: str, user: str) -> Session | None:
        """A conversation of that user; None when there is none."""
        return self.store.find(session_id, user) if session_id else None

    def new(self, user: str) -> Session:
        """A new conversation."""
        session = self.store.session(None, user)
        if self._beginning:
            session.append(self._beginning)
        return session

    def listed(self, user: str, lang: str, search: str = "") -> list[tuple[str, str]]:
        """Titles and ids, the last used first, or what fits a search best."""
        if search.strip():
            found = self.store.search(search, user, limit=_MOST_LISTED)
            return [
                (title or say("no_title", lang), one) for one, title in {f.session_id: f.title for f in found}.items()
            ]
        return [
            (info.title or say("no_title", lang), info.session_id)
            for info in self.store.sessions(user, limit=_MOST_LISTED)
            if info.messages
        ]

    def branch(self, session: Session, before: int) -> Session:
        """A new conversation with the messages before number `before`; the old one stays as it is."""
        title = session.info().title
        branch = session.fork(before - 1) if before > 0 else self.store.session(None, session.user_id)
        if title:
            branch.rename(self._next_title(title, session.user_id))
        return branch

    def _next_title(self, title: str, user: str) -> str:
        base, _, tail = title.rpartition(" (")
        stem = base if base and tail.endswith(")") and tail[:-1].isdecimal() else title
        taken = {info.title for info in self.store.sessions(user, limit=1_000)}
        number = 2
        while f"{stem} ({number})" in taken:
            number += 1
        return f"{stem} ({number})"
