"""The right to run in a session: held by one run at a time, lost with the process that holds it."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qwen_agentkit.log import logger
from qwen_agentkit.session.database import sa, sessions

if TYPE_CHECKING:
    from qwen_agentkit.session.store import SessionStore

# Seconds that a lease lasts without being renewed, and between two renewals.
LEASE_SECONDS = 30.0
_RENEW_SECONDS = 8.0
# Seconds between two tries to get a session, growing with the wait.
_POLL_SECONDS, _LONGEST_PAUSE = 0.05, 1.0
_HOST = socket.gethostname()


def new_holder() -> str:
    """Names this process and this run."""
    return f"{_HOST}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is there no more."""
    host, _, rest = holder.partition(":")
    pid = rest.partition(":")[0]
    if host != _HOST or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def now(dialect: str) -> Any:
    """The time that leases are compared by: the server's, where several machines share one."""
    if dialect == "postgresql":
        return sa.func.extract("epoch", sa.func.clock_timestamp())
    return sa.literal(time.time())


class Lease:
    """A held session. It is renewed in the background until it is released.

    Args:
        store: The store.
        row: Number of the session's row.
        holder: Who holds it.
    """

    def __init__(self, store: SessionStore, row: int, holder: str) -> None:
        self._store = store
        self._mine = (sessions.c.id == row, sessions.c.holder == holder)
        self._over = threading.Event()
        threading.Thread(target=self._renew, name="qwen-agentkit-lease", daemon=True).start()

    def _renew(self) -> None:
        while not self._over.wait(_RENEW_SECONDS):
            try:
                with self._store._engine.begin() as connection:
                    until = now(connection.dialect.name) + LEASE_SECONDS
                    connection.execute(sessions.update().where(*self._mine).values(lease_until=until))
            except sa.exc.SQLAlchemyError as error:
                logger.warning("The hold on a session could not be renewed: %s", error)

    def release(self) -> None:
        """Lets others run. Releasing twice does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        with self._store._engine.begin() as connection:
            connection.execute(sessions.update().where(*self._mine).values(holder=None, lease_until=None))


def acquire(
    store: SessionStore, session: tuple[str, str], wait: float | None, cancelled: Callable[[], bool] | None
) -> Lease:
    """The right to run in a session, when it is free.

    Args:
        store: The store.
        session: User and id.
        wait: Seconds to wait for the run that has it; None is for ever.
        cancelled: Asked now and then; when true the wait ends.

    Raises:
        TimeoutError: Another run did not end in time, or the wait was cancelled.
        KeyError: There is no such session.
    """
    holder, began = new_holder(), time.monotonic()
    while True:
        with store._engine.begin() as connection:
            row = store._must_row(connection, session)
            if _take(connection, row.id, holder):
                return Lease(store, row.id, holder)
        waited = time.monotonic() - began
        if (wait is not None and waited >= wait) or (cancelled is not None and cancelled()):
            raise TimeoutError(f"Another run is under way in the session {session[1]!r}")
        pause = min(_LONGEST_PAUSE, _POLL_SECONDS + waited / 10)
        time.sleep(pause if wait is None else min(pause, max(0.0, wait - waited)))


def _take(connection: Any, row: int, holder: str) -> bool:
    moment = now(connection.dialect.name)
    held = connection.execute(sa.select(sessions.c.holder).where(sessions.c.id == row)).scalar()
    free = sa.or_(sessions.c.holder.is_(None), sessions.c.lease_until < moment)
    if held is not None and is_dead(held):
        free = sessions.c.holder == held
    taken = connection.execute(
        sessions.update().where(sessions.c.id == row, free).values(holder=holder, lease_until=moment + LEASE_SECONDS)
    )
    return taken.rowcount == 1


def holder_of(connection: Any, row: int) -> str | None:
    """Who runs in a session at the moment, None when nobody does.

    Args:
        connection: To the store.
        row: Number of the session's row.
    """
    wanted = sa.select(sessions.c.holder).where(
        sessions.c.id == row, sessions.c.lease_until >= now(connection.dialect.name)
    )
    holder = connection.execute(wanted).scalar()
    return None if holder is None or is_dead(holder) else holder
