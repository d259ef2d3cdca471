"""Files, images, audio and video in messages: announcing uploads, and the forms that services take."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from qwen_agentkit.schema import FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.upload_text import UPLOAD_WORDS, announcement

_ANNOUNCED = re.compile(r"^(?:\(Uploaded (?:\[\w+\]\([^\n]*?\) ?)+\) |（上传了 (?:\[\w+\]\([^\n]*?\) ?)+）)")


def fit_media(
    messages: Sequence[Message], accepts: Sequence[str], *, announce: bool = False, lang: str = "en"
) -> list[Message]:
    """Messages whose content holds only what a model takes.

    What is left out (documents always, since no chat model reads them) is announced in front of the message's
    text: `(Uploaded [file](report.pdf)) `. Messages that need no change are handed on as they are.

    Args:
        messages: A conversation.
        accepts: The kinds that stay: `image`, `audio`, `video`.
        announce: Announces kinds that stay as well, because a tool may be told to work on them.
        lang: Language of the announcement.
    """
    return [_fitted(message, accepts, announce, lang) for message in messages]


def _fitted(message: Message, accepts: Sequence[str], announce: bool, lang: str) -> Message:
    if isinstance(message.content, str):
        return message
    kept: list[ContentItem] = []
    named: list[str] = []
    for item in message.content:
        kind, value = item.get_type_and_value()
        if kind == "text" or kind in accepts:
            kept.append(item)
        if kind != "text" and (kind not in accepts or announce):
            named.append(f"[{UPLOAD_WORDS[lang][kind]}]({_name(value)})")
    if named and message.role in (USER, SYSTEM, FUNCTION):
        kept.insert(0, ContentItem(text=announcement(named, lang)))
    content: str | list[ContentItem] = kept
    if all(item.text is not None for item in kept):
        content = "".join(item.text or "" for item in kept)
    return message.model_copy(update={"content": content})


def without_announcement(text: str) -> str:
    """A message's text without the uploads that `fit_media` announced in front of it."""
    return _ANNOUNCED.sub("", text)


def _name(value: Any) -> str:
    """What a reader or tool may call an upload: its address, or the name of a local file."""
    if isinstance(value, (list, tuple)):
        return ", ".join(_name(one) for one in value)
    if isinstance(value, dict):
        return str(value.get("url") or value.get("format") or "data")
    if value.startswith("data:"):
        return "data"
    if value.startswith(("http://", "https://", "oss://")):
        return value
    return os.path.basename(unquote(urlsplit(value).path) if value.startswith("file://") else value)


def as_image_url(value: str) -> str:
    """An address that a service can read an image from; a local file becomes a `data:` address."""
    return _as_url(value, "image/jpeg")


def as_audio_part(value: str | dict[str, Any]) -> dict[str, Any]:
    """An audio part of the OpenAI protocol; a dict (`{"data": ..., "format": ...}`) is taken as it is."""
    if isinstance(value, dict):
        return {"type": "input_audio", "input_audio": value}
    path = urlsplit(value).path if "://" in value else value
    form = os.path.splitext(path)[1].lstrip(".").lower() or "wav"
    return {"type": "input_audio", "input_audio": {"data": _as_url(value, f"audio/{form}"), "format": form}}


def as_video_part(value: str | list[Any]) -> dict[str, Any]:
    """A video part, as the Qwen services extend the protocol: an address, or a list of frames."""
    if isinstance(value, (list, tuple)):
        return {"type": "video", "video": [as_image_url(frame) for frame in value]}
    return {"type": "video_url", "video_url": {"url": _as_url(value, "video/mp4")}}


def as_file_url(value: str) -> str:
    """A `file://` address for a local path, as DashScope's SDK uploads it; other addresses stay."""
    if "://" in value or value.startswith("data:"):
        return value
    return f"file://{os.path.abspath(os.path.expanduser(value))}"


def _as_url(value: str, default_type: str) -> str:
    if value.startswith(("http://", "https://", "data:", "oss://")):
        return value
    path = unquote(urlsplit(value).path) if value.startswith("file://") else os.path.expanduser(value)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ValueError(f"The message names {value!r}, which cannot be read: {error}") from None
    kind = mimetypes.guess_type(path)[0] or default_type
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
