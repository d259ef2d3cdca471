"""`Session`: one stored conversation of one user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qwen_agentkit.schema import Message

if TYPE_CHECKING:
    from qwen_agentkit.follow_ups import Ticket
    from qwen_agentkit.session.lease import Lease
    from qwen_agentkit.session.store import SessionStore

LOCAL_USER = "local"

Repair = Callable[[list[Message]], list[Message]]


@dataclass(frozen=True)
class SessionInfo:
    """A session in a list.

    Args:
        session_id: Its id, unique for its user.
        user_id: Whose it is.
        title: Its title; the beginning of the first question unless it was renamed.
        messages: How many messages it holds.
        created_at: Seconds since 1970.
        updated_at: When something was last added, in seconds since 1970.
    """

    session_id: str
    user_id: str
    title: str
    messages: int
    created_at: float
    updated_at: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Fragment:
    """A message of a past session that a search found.

    Args:
        session_id: The session.
        title: Its title.
        message: Place of the message in it, from 0.
        role: Who spoke.
        text: What was said.
        created_at: When, in seconds since 1970.
        score: How well it fits, comparable within one result.
    """

    session_id: str
    title: str
    message: int
    role: str
    text: str
    created_at: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Session:
    """One conversation: `agent.run(messages, session=session)` reads and continues it.

    Made by `SessionStore.session`. No call on it can reach another user's rows.

    Args:
        store: Where it is kept.
        user_id: Whose it is.
        session_id: Its id.
    """

    def __init__(self, store: SessionStore, user_id: str, session_id: str) -> None:
        self.store = store
        self.user_id = user_id
        self.session_id = session_id

    @property
    def key(self) -> tuple[str, str]:
        return self.user_id, self.session_id

    def info(self) -> SessionInfo:
        """Title, counts and times.

        Raises:
            KeyError: The session was deleted.
        """
        return self.store._info(self.key)

    def messages(self) -> list[Message]:
        """The whole conversation."""
        return self.store._messages(self.key)

    def append(self, messages: Sequence[Message]) -> None:
        """Adds messages at the end."""
        self.store._append(self.key, list(messages))

    def rename(self, title: str) -> None:
        """Gives it another title.

        Raises:
            ValueError: The title is blank.
        """
        if not isinstance(title, str) or not title.strip():
            raise ValueError(f"A title is text that says something, not {title!r}")
        self.store._rename(self.key, title.strip())

    def delete(self) -> None:
        """Erases it and all its messages."""
        self.store._delete(self.key)

    def export(self) -> dict[str, Any]:
        """Everything it holds, as JSON-able values."""
        return {**self.info().to_dict(), "conversation": [message.model_dump() for message in self.messages()]}

    def fork(self, at: int, session_id: str | None = None) -> Session:
        """A new session of the same user with the messages up to and with number `at` (from 0).

        Args:
            at: The last message to take over.
            session_id: Id of the new session; None makes one.

        Raises:
            ValueError: There is no such message, or the id is in use.
        """
        return self.store._fork(self.key, at, session_id)

    def is_busy(self) -> bool:
        """Whether a run is under way in it, here or in another process.

        Raises:
            KeyError: The session was deleted.
        """
        return self.store._is_busy(self.key)

    def follow_up(self, text: str) -> Ticket | None:
        """Sends a text to the run that is under way in this session, here or in another process.

        Returns:
            A ticket that says whether the text reached the model; None when no run is under way.

        Raises:
            ValueError: The text is blank.
            KeyError: The session was deleted.
        """
        mail = self.store._mailboxes.get(self.key)
        return self.store._post(self.key, text) if mail is None else mail.send(text)

    @contextmanager
    def hold(self, wait: float | None = None, cancelled: Callable[[], bool] | None = None) -> Iterator[Lease]:
        """The right to run: one run at a time, over all processes and machines that use the store.

        Args:
            wait: Seconds to wait for the run that has it; None is for ever.
            cancelled: Asked now and then; when true the wait ends.

        Raises:
            TimeoutError: Another run did not end in time, or the wait was cancelled.
        """
        from qwen_agentkit.session.lease import acquire

        lease = acquire(self.store, self.key, wait, cancelled)
        try:
            yield lease
        finally:
            lease.release()

    def __deepcopy__(self, memo: dict[int, object]) -> Session:
        return self

    def __repr__(self) -> str:
        return f"Session(user_id={self.user_id!r}, session_id={self.session_id!r})"
