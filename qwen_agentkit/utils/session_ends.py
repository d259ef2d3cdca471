"""Who wants to know that stored conversations are gone: what is kept for them in memory elsewhere goes too."""

from __future__ import annotations

from collections.abc import Callable

from qwen_agentkit.log import logger

# Called with the user id and the session id; None is every session of the user.
listeners: list[Callable[[str, str | None], None]] = []


def tell_deleted(user_id: str, session_id: str | None) -> None:
    """Tells the listeners that a session, or with None every session of a user, was deleted.

    A listener that fails is logged and keeps nobody from deleting.
    """
    for listener in list(listeners):
        try:
            listener(user_id, session_id)
        except Exception:
            logger.exception("What belongs to a deleted session could not be ended")
