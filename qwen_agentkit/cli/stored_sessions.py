"""Which stored conversations a command works on: the store, the user, the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qwen_agentkit import settings
from qwen_agentkit.cli import configuration
from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.session.session import LOCAL_USER
from qwen_agentkit.utils.store_address import without_password

if TYPE_CHECKING:
    from qwen_agentkit.session import Session, SessionStore

# Conversations that a shell offers at most, the last used of a user.
_MOST_OFFERED = 1_000

User = Annotated[str, typer.Option("--user", metavar="ID", help="Whose conversations; on one's own machine `local`.")]
StoreAddress = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        help="Where conversations are kept, such as postgresql+psycopg://app@db/agents; without it that of "
        "QWEN_AGENTKIT_SESSIONS or of the configuration file, else `sessions.sqlite` in the workspace.",
    ),
]


def complete_session(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The ids that a shell offers, each with its title, the last used first; none where the store cannot be had."""
    given = context.params
    try:
        configuration.begin(context.find_root().params.get("config"))
        address = given.get("store") or settings.SESSIONS
        if not address and not Path(settings.DEFAULT_WORKSPACE, "sessions.sqlite").is_file():
            return []  # to complete a word is no reason to make a store
        with open_sessions(address) as store:
            infos = store.sessions(given.get("user") or LOCAL_USER, limit=_MOST_OFFERED)
    except (QwenAgentKitError, ValueError, OSError):
        return []  # what is wrong is said when the command runs; a shell that completes has no place for it
    return [(info.session_id, info.title) for info in infos if info.session_id.startswith(incomplete)]


SessionId = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Keep the conversation under this id, and go on with it.",
        autocompletion=complete_session,
    ),
]


class Busy(StrEnum):
    """What a message does while an answer is under way in its conversation."""

    wait = "wait"
    follow_up = "follow_up"


OnBusy = Annotated[
    Busy | None,
    typer.Option(
        "--on-busy",
        help="What a message does while an answer is under way in its conversation: wait, or go to that answer; "
        "without it as QWEN_AGENTKIT_ON_BUSY says, else wait.",
        show_default=False,
    ),
]


@contextmanager
def open_sessions(address: str | None, on_busy: Busy | None = None) -> Iterator[SessionStore]:
    """The store that is meant, open within a `with` block.

    Args:
        address: None is the one of the settings.
        on_busy: As for `SessionStore`.

    Raises:
        MissingDependencyError: The extra `sessions` is not installed.
        ValueError: The address is not understood.
        QwenAgentKitError: The database cannot be reached, or fails.
    """
    from qwen_agentkit.session import SessionStore
    from qwen_agentkit.session.database import sa

    try:
        with SessionStore(address, on_busy.value if on_busy else None) as store:
            yield store
    except sa.exc.SQLAlchemyError as error:
        reason = str(error).partition("\n")[0]
        where = without_password(address or settings.SESSIONS or "sessions.sqlite in the workspace")
        raise QwenAgentKitError(f"the store of sessions {where} fails: {reason}") from error


def must_find(store: SessionStore, session_id: str, user: str) -> Session:
    """A session of a user.

    Raises:
        WrongUse: There is none of that id.
    """
    found = store.find(session_id, user)
    if found is None:
        raise WrongUse(
            f"the user {user!r} has no session {session_id!r}; `qwen-agentkit sessions list` shows those there are"
        )
    return found
