"""The reply of a model as it grows: deltas in, messages out."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.llm.arguments import repair_arguments
from qwen_agentkit.llm.delta import Delta, NativeCall, NativeCalls, merge_opaque
from qwen_agentkit.llm.dialects.growth import ArgumentsPiece
from qwen_agentkit.llm.dialects.parser import ReplyParser, new_call_id
from qwen_agentkit.llm.stop_words import StopWords
from qwen_agentkit.schema import ASSISTANT, ContentItem, FunctionCall, Message

# Name of a call that came without one: the model is told that there is no such tool, and the history stays valid.
_UNNAMED = "unnamed_tool"


class Reply:
    """Builds the messages of one reply: thinking, text, then one message a tool call.

    What it shows only grows. Native calls enter when the reply ends, because pieces of several may be interleaved;
    calls written as text enter when the parser has read their end.

    Args:
        functions: Schemas of the tools that were offered; calls are looked for only when there are some.
        dialect: Name of the function-call dialect that the text may use.
        stop: Stop words to cut the text at.
        thought_in_content: The text begins with thinking.
        native_calls: Whether tool calls that the service gives in its own way are taken; None: when tools were offered.
        service: Name of the model and address, under which opaque fields are kept.
        after: An earlier attempt at the same reply that broke off; what it showed stays, this one goes on from it.

    Attributes:
        finish_reason: The service's word for why the reply ended, None while it goes on or when it gave none.
        usage: What the service counted, None when it does not say.
    """

    def __init__(
        self,
        functions: list[dict[str, Any]] | None = None,
        dialect: str = "nous",
        stop: list[str] | None = None,
        thought_in_content: bool = False,
        native_calls: bool | None = None,
        service: str = "",
        after: Reply | None = None,
    ) -> None:
        self._native_calls = bool(functions) if native_calls is None else native_calls
        self._service = service
        self._earlier_text = after.text if after is not None else ""
        self._earlier_reasoning = after.reasoning if after is not None else ""
        if self._earlier_reasoning and not self._earlier_text:
            # The thinking is begun anew: the two thoughts are kept apart.
            self._earlier_reasoning += "\n\n"
        self._finished: list[Message] | None = None
        self._parser = ReplyParser(
            functions=functions, dialect=dialect, thought_in_content=thought_in_content, parse_calls=bool(functions)
        )
        self._stop = StopWords(stop or [])
        self._calls = NativeCalls()
        # By position of a native call: the pieces and characters of its arguments that were told, and its id.
        self._told: dict[int, tuple[int, int]] = {}
        self._told_as: dict[int, str] = {}
        self._items: list[ContentItem] = []
        self._opaque: dict[str, Any] | None = None
        self._info: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self.usage: Usage | None = None

    def feed(self, delta: Delta) -> bool:
        """Takes what arrived; True when that may have made the reply longer."""
        text = self._stop.feed(delta.text) if delta.text else ""
        if text or delta.reasoning:
            self._parser.feed(text, delta.reasoning)
        for piece in delta.tool_calls:
            self._calls.feed(piece)
        if delta.items:
            self._items.extend(delta.items)
        if delta.finish_reason is not None:
            self.finish_reason = delta.finish_reason
        if delta.usage is not None:
            self.usage = delta.usage
        if delta.opaque:
            self._opaque = merge_opaque(self._opaque, delta.opaque)
        if delta.info:
            self._info.update(delta.info)
        if delta.extra:
            self._extra.update(delta.extra)
        return bool(text or delta.reasoning or delta.items)

    def watch_calls(self) -> None:
        """Follows calls while they are written, for `new_arguments`."""
        self._parser.watch_calls()

    def new_arguments(self) -> list[ArgumentsPiece]:
        """What was added to the arguments of calls that are being written, since the last time."""
        new = self._parser.new_arguments()
        for position, call in enumerate(self._calls.calls if self._native_calls else ()):
            pieces, length = self._told.get(position, (0, 0))
            text = "".join(call.arguments[pieces:])
            if not text or not call.name:
                continue
            call_id = self._told_as.get(position)
            if call_id is None:
                call_id = call.id if call.id and call.id not in self._told_as.values() else new_call_id()
                self._told_as[position] = call_id
            new.append(ArgumentsPiece(call_id, call.name, text, length))
            self._told[position] = (len(call.arguments), length + len(text))
        return new

    @property
    def stopped(self) -> bool:
        """A stop word was found: nothing that may still come belongs to the reply."""
        return self._stop.found is not None

    @property
    def shows_more(self) -> bool:
        """Whether this attempt has shown anything that the earlier ones had not."""
        return bool(self._parser.messages() or self._items)

    @property
    def text(self) -> str:
        """The text that is shown, without thinking."""
        return "".join(_text(message) for message in self.messages() if message.function_call is None)

    @property
    def reasoning(self) -> str:
        """The thinking that is shown."""
        return "".join(message.reasoning_content or "" for message in self.messages())

    @property
    def has_calls(self) -> bool:
        """Whether a complete tool call is shown."""
        return any(message.function_call is not None for message in self.messages())

    @property
    def empty(self) -> bool:
        """There is neither text nor call nor anything else to show but thinking."""
        return not any(message.content or message.function_call is not None for message in self.messages())

    def messages(self) -> list[Message]:
        """The reply so far, a new list each time."""
        if self._finished is not None:
            return list(self._finished)
        return self._with_items(self._with_earlier(self._parser.messages()))

    def finish(self) -> list[Message]:
        """Ends the reply: what was held back is decided, native calls enter, marks are set.

        Returns:
            The whole reply, at least one message.
        """
        if self._finished is not None:
            return list(self._finished)
        if self.stopped and self.finish_reason is None:
            self.finish_reason = "stop"  # the service was not waited for
        held = self._stop.finish()
        if held:
            self._parser.feed(held)
        self._parser.finish(self.finish_reason, native_calls=self._native_calls and bool(self._calls.calls))
        messages = self._with_items(self._with_earlier(self._parser.messages()))
        truncated = self.finish_reason == "length"
        native = self._calls.calls if self._native_calls else []
        for position, call in enumerate(native):
            cut = truncated and position == len(native) - 1
            messages.append(self._call_message(call, self._told_as.get(position) or call.id or new_call_id(), cut))
        _make_ids_unique(messages)
        if not messages:
            messages.append(Message(ASSISTANT, ""))
        self._mark(messages, truncated)
        self._finished = messages
        return list(messages)

    def _call_message(self, call: NativeCall, function_id: str, truncated: bool) -> Message:
        repaired = repair_arguments("".join(call.arguments), truncated=truncated)
        extra: dict[str, Any] = {**(call.extra or {}), "function_id": function_id}
        if repaired.repaired:
            extra["repaired"] = repaired.repaired
        if truncated or repaired.cut:
            extra["truncated"] = True
        if call.opaque:
            extra["model_service_info"] = {"service": self._service, "call": call.opaque}
        return Message(
            ASSISTANT,
            "",
            function_call=FunctionCall(call.name.strip() or _UNNAMED, repaired.arguments_json),
            extra=extra,
        )

    def _mark(self, messages: list[Message], truncated: bool) -> None:
        last = messages[-1] = messages[-1].model_copy()
        if self._extra:
            for message in messages:
                if message.function_call is None:
                    message.extra = {**self._extra, **(message.extra or {})}
        info = dict(self._info)
        if self._opaque:
            info |= {"service": self._service, "reply": self._opaque}
        if info:
            held = (last.extra or {}).get("model_service_info", {})
            last.extra = {**(last.extra or {}), "model_service_info": {**info, **held}}
        if truncated:
            last.extra = {**(last.extra or {}), "truncated": True}

    def _with_earlier(self, messages: list[Message]) -> list[Message]:
        if not (self._earlier_text or self._earlier_reasoning):
            return messages
        rest = list(messages)
        joined: list[Message] = []
        thought = self._earlier_reasoning
        if rest and rest[0].reasoning_content and not rest[0].content:
            thought += rest.pop(0).reasoning_content or ""
        if thought:
            joined.append(Message(ASSISTANT, "", reasoning_content=thought))
        if self._earlier_text:
            if rest and rest[0].function_call is None and isinstance(rest[0].content, str):
                first = rest.pop(0)
                joined.append(first.model_copy(update={"content": self._earlier_text + _text(first)}))
            else:
                joined.append(Message(ASSISTANT, self._earlier_text))
        return joined + rest

    def _with_items(self, messages: list[Message]) -> list[Message]:
        if not self._items:
            return messages
        for position, message in enumerate(messages):
            if message.content and message.function_call is None:
                parts = [ContentItem(text=_text(message)), *self._items]
                return [*messages[:position], message.model_copy(update={"content": parts}), *messages[position + 1 :]]
        return [*messages, Message(ASSISTANT, list(self._items))]


def _make_ids_unique(messages: list[Message]) -> None:
    seen: set[str] = set()
    for position, message in enumerate(messages):
        if message.function_call is None:
            continue
        function_id = (message.extra or {}).get("function_id")
        if not function_id or function_id in seen:
            function_id = new_call_id()
            messages[position] = message.model_copy(
                update={"extra": {**(message.extra or {}), "function_id": function_id}}
            )
        seen.add(function_id)


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(item.text or "" for item in message.content)
