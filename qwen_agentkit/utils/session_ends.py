"""The end of stored conversations: what is kept for them elsewhere, in memory and in folders, goes with them.

A tool keeps the files of a conversation in `<its folder>/<session_mark(...)>`, and pictures that messages show, which
a fork of the conversation shows too, in `<its folder>/figures/<user_mark(...)>-...`. What a user keeps beyond one
conversation lies in `<a folder>/<user_mark(...)>`. Nothing of another name is erased.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.log import logger

FIGURES = "figures"

# Called with the user id and the session id; None is every session of the user.
listeners: list[Callable[[str, str | None], None]] = []
# Folders of this process's tools; those in the workspace are known without it.
tool_folders: set[str] = set()


def session_mark(user_id: str, session_id: str) -> str:
    """A name that stands for one conversation of one user; fit for a folder."""
    return mark_of((user_id, session_id))


def user_mark(user_id: str) -> str:
    """A name that stands for a user; fit for a file."""
    return mark_of(user_id)


def mark_of(owner: object) -> str:
    """24 hexadecimal digits that stand for what has that `repr`."""
    return hashlib.sha256(repr(owner).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def tell_deleted(user_id: str, session_id: str | None) -> None:
    """Ends what belongs to a session that was deleted: tells the listeners, then erases its folders.

    A listener that fails and a folder that cannot be erased are logged and keep nobody from deleting.

    Args:
        user_id: Whose it was.
        session_id: Its id. None: all of the user's are gone, after each was told of; what the user has beyond them
            ends as well.
    """
    for listener in list(listeners):
        try:
            listener(user_id, session_id)
        except Exception:
            logger.exception("What belongs to a deleted session could not be ended")
    for folder in _folders():
        if session_id is not None:
            _erase(folder / session_mark(user_id, session_id))
        else:
            _erase(folder / user_mark(user_id))
            for picture in (folder / FIGURES).glob(f"{user_mark(user_id)}-*"):
                _erase(picture)


def _folders() -> Iterator[Path]:
    tools = Path(os.path.abspath(settings.DEFAULT_WORKSPACE), "tools")
    held = {os.path.realpath(folder) for folder in tools.glob("*") if folder.is_dir()}
    yield from map(Path, sorted(held | {os.path.realpath(folder) for folder in tool_folders}))


def _erase(place: Path) -> None:
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("%s belongs to a deleted session and could not be erased: %s", place, error)
