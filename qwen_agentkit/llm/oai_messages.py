"""Messages in the form of OpenAI's Chat Completions protocol.

Source of the format: https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from qwen_agentkit.llm.media import as_audio_part, as_image_url, as_video_part
from qwen_agentkit.schema import ASSISTANT, FUNCTION, USER, ContentItem, Message

_AsParts = Callable[[Sequence[ContentItem]], list[dict[str, Any]]]


def to_oai_messages(
    messages: Sequence[Message],
    *,
    service: str = "",
    send_reasoning: bool = False,
    parts: _AsParts | None = None,
) -> list[dict[str, Any]]:
    """The messages as the protocol wants them.

    Thinking, text and calls of one reply become one assistant message; a result becomes a `tool` message with the
    id of its call; images in results follow in a user message, because a `tool` message holds text.

    Args:
        messages: A valid history.
        service: Name of model and address: opaque fields kept under this name are sent back.
        parts: Turns content items into the service's content parts; None makes OpenAI's.
        send_reasoning: Sends thinking back as `reasoning_content`, as some services ask for within a tool loop.
    """
    wire: list[dict[str, Any]] = []
    pending_media: list[dict[str, Any]] = []
    as_parts = parts or openai_parts
    last_user = max((n for n, message in enumerate(messages) if message.role == USER), default=-1)
    for position, message in enumerate(messages):
        if message.role != FUNCTION and pending_media:
            wire.append({"role": USER, "content": pending_media})
            pending_media = []
        if message.role == ASSISTANT:
            # Two assistant messages in a row are parts of one reply.
            if not wire or wire[-1]["role"] != ASSISTANT:
                wire.append({"role": ASSISTANT, "content": ""})
            _add_assistant(wire[-1], message, service, send_reasoning and position > last_user)
        elif message.role == FUNCTION:
            text, media = _split_media(message.content, as_parts)
            wire.append(
                {"role": "tool", "tool_call_id": (message.extra or {}).get("function_id") or "", "content": text}
            )
            pending_media.extend(media)
        else:
            wire.append({"role": message.role, "content": _content(message.content, as_parts)})
    if pending_media:
        wire.append({"role": USER, "content": pending_media})
    # Some services refuse an assistant message that says nothing, such as one that was only thought.
    return [entry for entry in wire if entry != {"role": ASSISTANT, "content": ""}]


def _add_assistant(entry: dict[str, Any], message: Message, service: str, send_reasoning: bool) -> None:
    if message.reasoning_content and send_reasoning:
        entry["reasoning_content"] = entry.get("reasoning_content", "") + message.reasoning_content
    text = _text_of(message.content)
    if text:
        entry["content"] = f"{entry['content']}\n{text}" if entry["content"] else text
    info = (message.extra or {}).get("model_service_info")
    kept = info if isinstance(info, dict) and service and info.get("service") == service else {}
    if isinstance(kept.get("reply"), dict):
        entry.update(kept["reply"])
    if message.function_call is not None:
        call: dict[str, Any] = {
            "id": (message.extra or {}).get("function_id") or "",
            "type": "function",
            "function": {
                "name": message.function_call.name,
                "arguments": _valid_json(message.function_call.arguments),
            },
        }
        if isinstance(kept.get("call"), dict):
            call.update(kept["call"])
        entry.setdefault("tool_calls", []).append(call)


def _valid_json(arguments: str) -> str:
    """Arguments that servers can read: their templates parse them, and a history must not break on a bad one."""
    if arguments.strip():
        try:
            if isinstance(json.loads(arguments), dict):
                return arguments
        except ValueError:
            pass  # kept below, in a form that is JSON
        return json.dumps({"not_json": arguments}, ensure_ascii=False)
    return "{}"


def _text_of(content: str | list[ContentItem]) -> str:
    if isinstance(content, str):
        return content
    return "".join(item.text or "" for item in content)


def _split_media(content: str | list[ContentItem], as_parts: _AsParts) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(content, str):
        return content, []
    text = "\n".join(item.text for item in content if item.text is not None)
    return text, as_parts([item for item in content if item.text is None])


def _content(content: str | list[ContentItem], as_parts: _AsParts) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if all(item.text is not None for item in content):
        return "".join(item.text or "" for item in content)
    return as_parts(content)


def openai_parts(content: Iterable[ContentItem]) -> list[dict[str, Any]]:
    """Content items as OpenAI's content parts."""
    parts: list[dict[str, Any]] = []
    for item in content:
        kind, value = item.get_type_and_value()
        if kind == "text":
            parts.append({"type": "text", "text": value})
        elif kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": as_image_url(value)}})
        elif kind == "audio":
            parts.append(as_audio_part(value))
        elif kind == "video":
            parts.append(as_video_part(value))
    return parts


def to_oai_tools(functions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool schemas with the protocol's wrapper around each."""
    return [{"type": "function", "function": function} for function in functions]


def from_messages(messages: Sequence[Message]) -> dict[str, Any]:
    """One assistant message in the protocol's form for the messages of one reply."""
    wire = to_oai_messages([message for message in messages if message.role == ASSISTANT], send_reasoning=True)
    return wire[0] if wire else {"role": ASSISTANT, "content": ""}
