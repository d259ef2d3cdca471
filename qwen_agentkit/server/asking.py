"""From the body of a request to messages that an agent may be given.

Media in a message are an address, data in the message itself, or a file that was uploaded to the session (documents
only that or an address). A path is refused: a client must not have the server read the server's own files.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from qwen_agentkit.schema import ContentItem, Message, messages_from
from qwen_agentkit.server.failures import RequestFailed

_MEDIA = ("image", "file", "audio", "video")
# Bytes; a WAV header alone is as long.
_SHORTEST_SOUND = 44
_ADDRESSES = ("http://", "https://", "data:")

# Finds an uploaded file by its id; None when there is none.
FindFile = Callable[[str], str | None]


def messages_of(given: Sequence[Any], find_file: FindFile, most: int) -> list[Message]:
    """The messages of a request.

    Args:
        given: What stands in the body: this project's or OpenAI's messages.
        find_file: For the uploaded files that messages name.
        most: How many messages there may be.

    Raises:
        RequestFailed: 400, naming what is wrong.
    """
    if not given:
        raise RequestFailed(400, "At least one message is wanted", "no_messages", "messages")
    if len(given) > most:
        raise RequestFailed(400, f"A request has at most {most} messages, not {len(given)}", "too_many", "messages")
    try:
        messages = messages_from([_own_form(message) for message in given])
    except (ValueError, TypeError) as error:
        raise RequestFailed(400, str(error), "invalid_message", "messages") from None
    for message in messages:
        if isinstance(message.content, list):
            message.content = [_checked(item, find_file) for item in message.content]
    return messages


def _own_form(message: Any) -> Any:
    """An OpenAI file part names an uploaded file by id, or holds its data; both become a `file` item here."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    parts = []
    for part in message["content"]:
        if isinstance(part, dict) and part.get("type") == "file" and isinstance(part.get("file"), dict):
            held = part["file"]
            parts.append({"file": held.get("file_id") or held.get("file_data") or ""})
        else:
            parts.append(part)
    return {**message, "content": parts}


def _checked(item: ContentItem, find_file: FindFile) -> ContentItem:
    for kind in _MEDIA:
        value = getattr(item, kind)
        if value is None:
            continue
        if isinstance(value, str):
            return ContentItem(**{kind: _address(value, kind, find_file)})
        if kind == "video" and isinstance(value, list):
            return ContentItem(video=[_address(frame, kind, find_file) for frame in value])
        if kind == "audio" and isinstance(value, dict) and _is_sound(value.get("data")):
            return ContentItem(audio={"data": value["data"], "format": str(value.get("format") or "wav")})
        raise RequestFailed(400, f"This is no {kind}: {str(value)[:80]!r}", "invalid_media", "messages")
    return item


def _address(value: Any, kind: str, find_file: FindFile) -> str:
    if isinstance(value, str):
        if value.lower().startswith(_ADDRESSES) and not (kind == "file" and value.lower().startswith("data:")):
            return value
        if (path := find_file(value)) is not None:
            return path
    raise RequestFailed(
        400,
        f"A {kind} is an http(s) address, {'' if kind == 'file' else 'a data: address, '}or the id of a file that "
        f"was uploaded to the session, not {str(value)[:80]!r}",
        "invalid_media",
        "messages",
    )


def _is_sound(data: Any) -> bool:
    """Whether it is an address or base64; a short text could be taken for the name of a file."""
    if not isinstance(data, str):
        return False
    if data.lower().startswith(_ADDRESSES):
        return True
    try:
        return len(base64.b64decode(data, validate=True)) >= _SHORTEST_SOUND
    except ValueError:
        return False
