"""Follow-ups that reach a run in another process or on another machine, by way of the store of sessions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from qwen_agentkit.follow_ups import DELIVERED, NOT_DELIVERED, PENDING, Ticket
from qwen_agentkit.log import logger
from qwen_agentkit.session.database import follow_ups, sa
from qwen_agentkit.session.lease import holder_of

if TYPE_CHECKING:
    from qwen_agentkit.session.store import SessionStore

_POLL_SECONDS = 0.1
# A decided text that nobody came back for is forgotten after so many seconds.
_KEPT_SECONDS = 3600.0


class PostedTicket(Ticket):
    """The ticket of a text that was left in the store. It is asked there when it is waited for.

    Args:
        text: The text.
        store: The store.
        number: Number of the text's row.
    """

    def __init__(self, text: str, store: SessionStore, number: int) -> None:
        super().__init__(text)
        self._store = store
        self._number = number

    def wait(self, seconds: float | None = None) -> str:
        """Waits until it is known whether the text reached the model; returns the status."""
        until = None if seconds is None else time.monotonic() + seconds
        while self.status == PENDING:
            status = self._look()
            if status != PENDING:
                self._decide(status)
                break
            left = _POLL_SECONDS if until is None else until - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_POLL_SECONDS, left))
        return self.status

    def withdraw(self) -> None:
        """Takes the text back, unless it was delivered."""
        if self.status == PENDING:
            self._decide(self._settle())

    def _look(self) -> str:
        wanted = sa.select(follow_ups.c.status, follow_ups.c.session).where(follow_ups.c.id == self._number)
        with self._store._reading() as connection:
            row = connection.execute(wanted).first()
            if row is not None and row.status == PENDING and holder_of(connection, row.session):
                return PENDING
        return self._settle()

    def _settle(self) -> str:
        """The status, final from here on: what nobody has taken by now is not delivered."""
        with self._store._engine.begin() as connection:
            mine = follow_ups.c.id == self._number
            status = connection.execute(sa.select(follow_ups.c.status).where(mine).with_for_update()).scalar()
            connection.execute(follow_ups.delete().where(mine))
        return DELIVERED if status == DELIVERED else NOT_DELIVERED


def post(store: SessionStore, session: tuple[str, str], text: str) -> PostedTicket | None:
    """Leaves a text for the run that is under way in a session; None when none is.

    Args:
        store: The store.
        session: User and id.
        text: The text.
    """
    with store._engine.begin() as connection:
        row = store._must_row(connection, session)
        if not holder_of(connection, row.id):
            return None
        values = {"session": row.id, "text": text, "status": PENDING, "created_at": time.time()}
        number = connection.execute(follow_ups.insert().values(**values)).inserted_primary_key[0]
    return PostedTicket(text, store, number)


def take(store: SessionStore, session: tuple[str, str]) -> list[str]:
    """The texts that wait for the run in a session, oldest first; they count as delivered from here on."""
    try:
        with store._reading() as connection:
            row = store._row(connection, session)
            if row is None or not connection.execute(_waiting(row.id)).first():
                return []
        with store._engine.begin() as connection:
            rows = connection.execute(_waiting(row.id).with_for_update()).all()
            numbers = [number for number, _ in rows]
            delivered = follow_ups.update().where(follow_ups.c.id.in_(numbers)).values(status=DELIVERED)
            connection.execute(delivered)
    except sa.exc.SQLAlchemyError as error:
        # The run itself does not depend on it; the texts stay for the next look.
        logger.warning("Follow-ups from other processes could not be read: %s", error)
        return []
    return [text for _, text in rows]


def _waiting(session: int) -> Any:
    """Asks for the texts that nobody has taken."""
    return (
        sa.select(follow_ups.c.id, follow_ups.c.text)
        .where(follow_ups.c.session == session, follow_ups.c.status == PENDING)
        .order_by(follow_ups.c.id)
    )


def old(session: int) -> Any:
    """The texts of a session whose senders never came back, for a statement's `where`."""
    return sa.and_(follow_ups.c.session == session, follow_ups.c.created_at < time.time() - _KEPT_SECONDS)
