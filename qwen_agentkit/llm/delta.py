"""What a backend yields while a reply arrives, and how pieces of native tool calls become whole ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.schema import ASSISTANT, ContentItem, FunctionCall, Message


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of a native tool call.

    Args:
        index: Position of the call in the reply; None where the server gives none.
        id: The server's id, usually in the first piece only.
        name: Name of the tool, usually in the first piece only.
        arguments: Further text of the arguments.
        opaque: Fields of the server's own, to be sent back to it with the call.
        extra: What goes into the call message's `extra`.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    opaque: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


@dataclass(slots=True)
class Delta:
    """What arrived since the last one. A reply that comes whole is one Delta.

    Args:
        text: Further text of the answer (tool calls written as text included).
        reasoning: Further thinking.
        tool_calls: Pieces of native tool calls.
        items: Images, audio or video that the model made.
        audio: A piece of speech, base64, for the backend that asked for it.
        finish_reason: `stop`, `length`, `tool_calls`, `content_filter` or the server's own word.
        usage: Tokens of the whole request, where the server says so; the last one given counts.
        opaque: Fields of the server's own beside the text, to be sent back to it with this reply.
        info: Facts about the reply (request id, model) for `extra["model_service_info"]`.
        extra: What goes into the text message's `extra`.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: list[ToolCallDelta] = field(default_factory=list)
    items: list[ContentItem] = field(default_factory=list)
    audio: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    opaque: dict[str, Any] | None = None
    info: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


@dataclass(slots=True)
class NativeCall:
    """A tool call put together from its pieces."""

    index: int | None
    id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    opaque: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


class NativeCalls:
    """The tool calls of one reply, put together by `index`.

    Seen from servers and borne here: pieces of several calls interleaved; `arguments` null at first; the name
    sent again with every piece; no `index` at all; `index` 0 for every call, told apart by their ids.
    """

    def __init__(self) -> None:
        self.calls: list[NativeCall] = []
        self._by_index: dict[int, NativeCall] = {}

    def feed(self, piece: ToolCallDelta) -> None:
        call = self._call_of(piece)
        if piece.id and not call.id:
            call.id = piece.id
        if piece.name and piece.name != call.name:
            # Some servers send a growing name, some send it in parts.
            call.name = piece.name if piece.name.startswith(call.name) else call.name + piece.name
        if piece.arguments:
            call.arguments.append(piece.arguments)
        if piece.opaque:
            call.opaque = merge_opaque(call.opaque, piece.opaque)
        if piece.extra:
            call.extra = {**(call.extra or {}), **piece.extra}

    def _call_of(self, piece: ToolCallDelta) -> NativeCall:
        call: NativeCall | None
        if piece.index is None:
            call = self.calls[-1] if self.calls else None
            if call is None or (piece.name and piece.id != call.id) or (piece.name and call.arguments):
                return self._begin(None)
            return call
        call = self._by_index.get(piece.index)
        if call is None or (piece.id and call.id and piece.id != call.id and piece.name):
            return self._begin(piece.index)
        return call

    def _begin(self, index: int | None) -> NativeCall:
        call = NativeCall(index)
        self.calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


# Texts inside opaque fields that arrive in pieces; any other value is replaced by its newest form.
_GROWING = frozenset({"text", "thinking", "summary", "data", "signature"})


def merge_opaque(held: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Adds newly arrived opaque fields to those held; lists of parts are matched by their `index` and `type`."""
    merged = dict(held or {})
    for key, value in new.items():
        before = merged.get(key)
        if isinstance(before, list) and isinstance(value, list):
            merged[key] = _merge_parts(before, value)
        elif isinstance(before, dict) and isinstance(value, dict):
            merged[key] = merge_opaque(before, value)
        elif key in _GROWING and isinstance(before, str) and isinstance(value, str):
            merged[key] = before + value
        else:
            merged[key] = value
    return merged


def _merge_parts(held: list[Any], new: list[Any]) -> list[Any]:
    merged = list(held)
    for part in new:
        last = merged[-1] if merged else None
        if (
            isinstance(part, dict)
            and isinstance(last, dict)
            and part.get("index") is not None
            and (part.get("index"), part.get("type")) == (last.get("index"), last.get("type"))
        ):
            merged[-1] = merge_opaque(last, part)
        else:
            merged.append(part)
    return merged


def deltas_of(lists: Iterable[list[Message]]) -> Iterator[Delta]:
    """The deltas between growing lists of messages, as a `_chat_stream` written for Qwen-Agent yields them."""
    text = reasoning = ""
    arguments: dict[int, str] = {}
    item_count = 0
    for messages in lists:
        new_text, new_reasoning, items, calls = _contents(messages)
        delta = Delta(
            text=_growth(text, new_text), reasoning=_growth(reasoning, new_reasoning), items=items[item_count:]
        )
        text, reasoning, item_count = new_text, new_reasoning, len(items)
        for index, (call, extra) in enumerate(calls):
            rest = {key: value for key, value in extra.items() if key != "function_id"}
            growth = _growth(arguments.get(index, ""), call.arguments)
            delta.tool_calls.append(
                ToolCallDelta(index, extra.get("function_id"), call.name, growth, extra=rest or None)
            )
            arguments[index] = call.arguments
        for message in messages:
            if message.function_call is None and message.extra:
                delta.extra = {**(delta.extra or {}), **message.extra}
        yield delta


def _contents(
    messages: list[Message],
) -> tuple[str, str, list[ContentItem], list[tuple[FunctionCall, dict[str, Any]]]]:
    texts: list[str] = []
    thoughts: list[str] = []
    items: list[ContentItem] = []
    calls: list[tuple[FunctionCall, dict[str, Any]]] = []
    for message in messages:
        if message.role != ASSISTANT:
            raise ValueError(f"A model answers with assistant messages, not with one of role {message.role!r}")
        thoughts.append(message.reasoning_content or "")
        if isinstance(message.content, str):
            texts.append(message.content)
        else:
            for item in message.content:
                if item.text is not None:
                    texts.append(item.text)
                else:
                    items.append(item)
        if message.function_call is not None:
            calls.append((message.function_call, message.extra or {}))
    return "".join(texts), "".join(thoughts), items, calls


def _growth(before: str, now: str) -> str:
    if not now.startswith(before):
        raise ValueError(
            f"A streamed reply only grows, but {before[-60:]!r} became {now[-60:]!r}. "
            "_chat_stream yields the whole reply so far each time."
        )
    return now[len(before) :]


def as_json_text(arguments: Any) -> str | None:
    """Arguments as text: some servers send an object where the protocol has its JSON."""
    if arguments is None or isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def steps_between(snapshots: Iterable[list[Message]]) -> Iterator[list[Message]]:
    """What each list of messages adds to the one before: the form of `delta_stream=True`."""
    seen: dict[tuple[str, Any], tuple[int, int]] = {}
    for messages in snapshots:
        step: list[Message] = []
        counts: dict[str, int] = {}
        for position, message in enumerate(messages):
            # Not by position: thinking that was held back may still enter before the text.
            kind = "call" if message.function_call else "thinking" if message.reasoning_content else "text"
            counts[kind] = counts.get(kind, 0) + 1
            key = (kind, counts[kind])
            content, thought = message.content, message.reasoning_content or ""
            lengths = (len(content), len(thought))
            before = seen.get(key)
            seen[key] = lengths
            if before is None:
                step.append(message)
            elif lengths != before or (position == len(messages) - 1 and message.extra):
                update = {
                    "content": content[before[0] :],
                    "reasoning_content": thought[before[1] :] or None,
                    "function_call": None,
                }
                step.append(message.model_copy(update=update))
        if step:
            yield step
