"""The messages in a model's reply, while it arrives: thinking, text, tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from qwen_agentkit.llm.dialects.calls import ParsedCall, ToolNames
from qwen_agentkit.llm.dialects.growth import ArgumentsPiece, CallWatch
from qwen_agentkit.llm.dialects.scanner import Scanner
from qwen_agentkit.schema import ASSISTANT, FunctionCall, Message
from qwen_agentkit.utils.ids import new_call_id

__all__ = ["ReplyParser", "new_call_id"]


class _Growing:
    """Text that grows; joining it again costs only what is new."""

    def __init__(self) -> None:
        self._joined = ""
        self._new: list[str] = []

    def add(self, piece: str) -> None:
        if piece:
            self._new.append(piece)

    def __str__(self) -> str:
        if self._new:
            self._joined += "".join(self._new)
            self._new.clear()
        return self._joined

    def __bool__(self) -> bool:
        return bool(self._joined or self._new)


class ReplyParser:
    """Reads one reply, whichever text dialect its calls are written in.

    The messages stand in the order in which they began, which for nearly every reply is thinking, text, calls; the
    server's own thinking is always first. What `messages` showed only grows: text that may become a tag is held
    back, a call enters when it is whole. Text behind a call is appended to the text message.

    A tag of its own announces a call, whatever its name. JSON in a fence or alone and `Action:` lines are a call only
    when they name an offered tool; so is an example that a model writes out in that very form.

    A call written inside thinking stays in the thinking's text. It is also taken as a call when the reply has
    nothing else to offer: no text and no call outside the thinking.

    Args:
        functions: Schemas of the offered tools; they settle names, types of XML parameters, and whether JSON
            without a tag is a call.
        dialect: Name of the dialect that the model was asked for.
        thought_in_content: The text begins inside thinking, without an opening tag.
        parse_calls: Look for calls; False reads thinking only.
    """

    def __init__(
        self,
        functions: Iterable[Mapping[str, Any]] | None = None,
        dialect: str = "nous",
        thought_in_content: bool = False,
        parse_calls: bool = True,
    ) -> None:
        self._names = names = ToolNames(functions)
        self._text = _Growing()
        self._thought = _Growing()
        self._thought_break = False
        # What is shown, in order: the text and the thinking (which grow) and the calls.
        self._shown: list[_Growing | Message] = []
        self._calls_in_thought: list[ParsedCall] = []
        self._from_server = False
        self._content = Scanner(names, dialect, self, thinking=thought_in_content, parse_calls=parse_calls)
        self._reasoning = Scanner(names, dialect, self, thinking_only=True, parse_calls=parse_calls)
        self._finished = False

    # What the scanners report

    def text(self, piece: str) -> None:
        """Takes a piece of the answer's text."""
        if not self._text:
            self._shown.append(self._text)
        self._text.add(piece)

    def thought(self, piece: str) -> None:
        """Takes a piece of thinking; the empty piece begins a further stretch of it."""
        if not piece:
            self._thought_break = bool(self._thought)
            return
        if self._thought_break:
            self._thought.add("\n\n")
            self._thought_break = False
        if not self._thought:
            self._shown.insert(0 if self._from_server else len(self._shown), self._thought)
        self._thought.add(piece)

    def call(self, call: ParsedCall, in_thought: bool) -> None:
        """Takes a call that was found."""
        if in_thought:
            self._calls_in_thought.append(call)
        else:
            self._shown.append(_message_of(call))

    # For the model layer

    def feed(self, text_delta: str, reasoning_delta: str = "") -> None:
        """Takes what arrived, of the text and of the server's own reasoning field.

        Raises:
            RuntimeError: The reply was already finished.
        """
        if self._finished:
            raise RuntimeError("This reply is finished; a new reply needs a new ReplyParser")
        if reasoning_delta:
            self._from_server = True
            self._reasoning.feed(reasoning_delta)
            self._from_server = False
        if text_delta:
            if not text_delta.isspace():
                self._from_server = True
                self._reasoning.release()
                self._from_server = False
            self._content.feed(text_delta)

    def watch_calls(self) -> None:
        """Follows calls in the text from now on, for `new_arguments`."""
        self._content.watch = CallWatch(self._names)

    def new_arguments(self) -> list[ArgumentsPiece]:
        """What was added to the arguments of calls that are being written, since the last time."""
        watch = self._content.watch
        return watch.take() if watch is not None else []

    def messages(self) -> list[Message]:
        """The reply so far: a new list, whose call messages are the same objects each time."""
        return [self._message(one) if isinstance(one, _Growing) else one for one in self._shown]

    def _message(self, growing: _Growing) -> Message:
        if growing is self._thought:
            return Message(ASSISTANT, "", reasoning_content=str(growing))
        return Message(ASSISTANT, str(growing))

    def finish(self, finish_reason: str | None = None, *, native_calls: bool = False) -> list[Message]:
        """Ends the reply: what was held back is decided, unfinished calls are recovered.

        Args:
            finish_reason: The server's word. Unless it says that the model stopped of itself, a call that is not
                closed is marked as truncated (``extra["truncated"]``).
            native_calls: The server has given tool calls of its own beside the text, so that a call inside the
                thinking is only thought about.

        Returns:
            The whole reply, as `messages` shows it from now on. It is empty when the model said nothing.
        """
        if not self._finished:
            self._finished = True
            self._from_server = True
            self._reasoning.finish(finish_reason)
            self._from_server = False
            self._content.finish(finish_reason)
            if not native_calls and all(one is self._thought for one in self._shown):
                self._shown.extend(_message_of(call) for call in self._calls_in_thought)
        return self.messages()


def _message_of(call: ParsedCall) -> Message:
    extra: dict[str, Any] = {"function_id": call.id or new_call_id()}
    if call.repaired:
        extra["repaired"] = call.repaired
    if call.cut:
        extra["truncated"] = True
    return Message(ASSISTANT, "", function_call=FunctionCall(call.name, call.arguments), extra=extra)
