"""Whose names and files a call of a code tool works with: those of one user's one conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.session.session import LOCAL_USER
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.session_ends import mark_of, session_mark, user_mark

# The end of an id that was made at random: servers also give ids such as `1` or `functions.weather:0`.
_RANDOM = re.compile(r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}$")


def conversation_key(kwargs: Mapping[str, Any], tool_id: str) -> str:
    """A name for a conversation that no other user and no other conversation has; fit for a folder.

    Args:
        kwargs: Of the tool's `call`: `session`, or `user_id` and `session_id`, or `messages`.
        tool_id: Of the tool object, for conversations that can be told apart by it alone.

    A stored session that the run is in comes first, then what a program gave to `run`. Without either, a conversation
    is known by the id of its first tool call, which stays in its messages; so two conversations that begin with the
    same words are two. Before there is such an id, the tool object and the first words of the user stand for it.
    """
    owner: Any = _session_of(kwargs)
    if owner is None:
        messages: Sequence[Message] = kwargs.get("messages") or []
        call_id = next(filter(None, ((message.extra or {}).get("function_id") for message in messages)), None)
        if isinstance(call_id, str) and _RANDOM.search(call_id):
            owner = ("call", call_id)
        else:
            first = next((text_of(message) for message in messages if message.role == USER), "")
            owner = (tool_id, first, call_id)
    # Of a session this is `session_mark`, by which its folders are found when it is deleted.
    return mark_of(owner)


def conversation_mark() -> str | None:
    """The name of the folders of the stored session that the run is in, None outside of any."""
    run = current_run()
    return session_mark(*run.session_key) if run is not None and run.session_key is not None else None


def folder_of_user(folder: str) -> str:
    """The folder itself, or in a stored session of a user with a name of their own the one beside it that is theirs."""
    run = current_run()
    if run is None or run.session_key is None or run.session_key[0] == LOCAL_USER:
        return folder
    return os.path.join(f"{folder.rstrip(os.sep)}-users", user_mark(run.session_key[0]))


def session_of(kwargs: Mapping[str, Any]) -> tuple[str, str] | None:
    """User id and session id that a call belongs to, None without a session; arguments as for `conversation_key`."""
    owner = _session_of(kwargs)
    return owner if isinstance(owner, tuple) and len(owner) == 2 else None


def _session_of(kwargs: Mapping[str, Any]) -> Any:
    run = current_run()
    if run is not None and run.session_key is not None:
        return run.session_key
    session = kwargs.get("session")
    if session is not None:
        return getattr(session, "key", session)
    if kwargs.get("session_id") or kwargs.get("user_id"):
        return str(kwargs.get("user_id", LOCAL_USER)), str(kwargs.get("session_id", ""))
    return None
