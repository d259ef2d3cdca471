"""The right to run in a session: held by one run at a time, lost with the process that holds it."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from qwen_agentkit.log import logger
from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from qwen_agentkit.session.store import SessionStore

sa = need("sqlalchemy", extra="sessions")

# Seconds that a lease lasts without being renewed, and between two renewals.
LEASE_SECONDS = 30.0
_RENEW_SECONDS = 8.0
_POLL_SECONDS = 0.05
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
        self.row = row
        self.holder = holder
        self._over = threading.Event()
        threading.Thread(target=self._renew, name="qwen-agentkit-lease", daemon=True).start()

    def _renew(self) -> None:
        while not self._over.wait(_RENEW_SECONDS):
            try:
                self._store._extend(self.row, self.holder)
            except sa.exc.SQLAlchemyError as error:
                logger.warning("The hold on a session could not be renewed: %s", error)

    def release(self) -> None:
        """Lets others run. Releasing twice does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        self._store._release(self.row, self.holder)


def poll_pause(waited: float) -> float:
    """Seconds until the next try, longer the longer one has waited."""
    return min(1.0, _POLL_SECONDS + waited / 10)
