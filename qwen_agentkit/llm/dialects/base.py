"""What a function-call dialect is, and what the text dialects share.

A dialect says how tools, past calls and their results are written for a model. Reading a reply is `parser`'s work
and the same for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.llm.arguments import dump_json, read_json, repair_arguments
from qwen_agentkit.schema import ASSISTANT, FUNCTION, SYSTEM, USER, ContentItem, Message

Content = str | list[ContentItem]


@dataclass(frozen=True)
class Dialect:
    """How tool calls are written for one family of models.

    Args:
        name: Its name in a configuration (`fncall_prompt_type`).
        tools: Writes the part of the system message that offers the tools: (functions, lang, parallel) -> text.
            None for a server that takes tools beside the messages.
        call: Writes a past call: (name, arguments as JSON text) -> text.
        results: Writes the results of one round as one message's content: [(name, content)], lang -> content.
        calls: Writes several calls of one reply; the calls joined by line ends if not given.
        stop_words: What a reply is to be stopped at.
        results_in_reply: The results belong into the assistant's own message, as the `qwen` dialect has it.
    """

    name: str
    tools: Callable[[Sequence[Mapping[str, Any]], str, bool], str] | None = None
    call: Callable[[str, str], str] | None = None
    results: Callable[[Sequence[tuple[str, Content]], str], Content] | None = None
    calls: Callable[[Sequence[str]], str] = "\n".join
    stop_words: tuple[str, ...] = ()
    results_in_reply: bool = False

    @property
    def native(self) -> bool:
        """Tools and calls travel in fields of their own; the messages stay as they are."""
        return self.tools is None

    def prepare(
        self,
        messages: Sequence[Message],
        functions: Sequence[Mapping[str, Any]] | None,
        *,
        lang: str = "en",
        function_choice: str = "auto",
        parallel: bool = False,
    ) -> list[Message]:
        """Writes tools, past calls and results into the text.

        Args:
            messages: The history; it is not changed.
            functions: Schemas of the tools, with or without OpenAI's wrapper.
            lang: Language of the prompt, `en` or `zh`.
            function_choice: `auto`, `none`, or the name of the tool that has to be called.
            parallel: The model may ask for several calls in one reply. Only `qwen` and `react` tell the model;
                the other dialects always allow it.

        Returns:
            New messages of the roles system, user and assistant (for a native dialect the same messages).
            Without functions, or with `none`, past calls and results become plain text.

        Raises:
            ValueError: `function_choice` is no name of an offered tool.
        """
        offered = [unwrapped(function) for function in functions or ()]
        check_choice(function_choice, offered)
        if self.tools is None or self.call is None or self.results is None:
            return list(messages)
        if not offered or function_choice == "none":
            return plain_history(messages, lang)
        written = self._history(messages, lang)
        written = _with_tools(written, self.tools(offered, lang, parallel))
        return _with_choice(written, function_choice, lang) if function_choice != "auto" else written

    def reply_text(self, calls: Sequence[tuple[str, str]]) -> str:
        """The calls of one reply in this dialect's text: [(name, arguments as JSON text)]."""
        if self.call is None:
            raise ValueError(f"The dialect {self.name!r} does not write calls as text")
        return self.calls([self.call(name, arguments) for name, arguments in calls])

    def _history(self, messages: Sequence[Message], lang: str) -> list[Message]:
        written: list[Message] = []
        position = 0
        while position < len(messages):
            message = messages[position]
            if message.role == ASSISTANT:
                run = _run_of(messages, position, ASSISTANT)
                said = self._said(run)
                if self.results_in_reply and written and written[-1].role == ASSISTANT:
                    # The reply goes on behind the result.
                    last = written[-1]
                    written[-1] = last.model_copy(update={"content": _joined(last.content, said.content, "")})
                else:
                    written.append(said)
            elif message.role == FUNCTION:
                run = _run_of(messages, position, FUNCTION)
                content = self.results([(one.name or "", one.content) for one in run], lang) if self.results else ""
                if self.results_in_reply and written and written[-1].role == ASSISTANT:
                    last = written[-1]
                    written[-1] = last.model_copy(update={"content": _joined(last.content, content, "\n")})
                elif self.results_in_reply:
                    written.append(Message(ASSISTANT, content))
                else:
                    written.append(Message(USER, content))
            else:
                run = [message]
                written.append(message)
            position += len(run)
        return written

    def _said(self, run: Sequence[Message]) -> Message:
        """One assistant message for the thinking, the text and the calls of one reply."""
        if len(run) == 1 and run[0].function_call is None:
            return run[0]
        content: Content = ""
        thoughts = [one.reasoning_content for one in run if one.reasoning_content]
        calls: list[tuple[str, str]] = []
        extra: dict[str, Any] = {}
        for one in run:
            content = _joined(content, one.content, "\n")
            if one.function_call is not None:
                calls.append((one.function_call.name, one.function_call.arguments))
            elif one.extra:
                extra.update(one.extra)
        if calls:
            content = _joined(content, self.reply_text(calls), "\n")
        return Message(ASSISTANT, content, "\n\n".join(thoughts) or None, run[0].name, None, extra or None)


def unwrapped(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's schema without OpenAI's `type`/`function` wrapper."""
    inner = function.get("function")
    return inner if isinstance(inner, Mapping) else function


def check_choice(function_choice: str, functions: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError unless the choice is `auto`, `none` or the name of one of the functions."""
    names = [function.get("name") for function in functions]
    if function_choice not in ("auto", "none") and function_choice not in names:
        offered = ", ".join(str(name) for name in names) or "none"
        raise ValueError(
            f"function_choice is 'auto', 'none' or the name of an offered tool, not {function_choice!r}; "
            f"offered tools: {offered}"
        )


def arguments_value(arguments: str) -> Any:
    """Past arguments as a value to be written anew; the text itself where it is no JSON."""
    repaired = repair_arguments(arguments)
    if repaired.error is None:
        return json.loads(repaired.arguments_json)
    try:
        return read_json(arguments).value
    except ValueError:
        return arguments


def arguments_text(arguments: str) -> str:
    """Past arguments as JSON text in Python's default form; as they are where they are no JSON."""
    repaired = repair_arguments(arguments)
    return repaired.arguments_json if repaired.error is None else arguments


def tool_line(function: Mapping[str, Any]) -> str:
    """A tool's schema on one line, as `nous` models are trained on it: OpenAI's wrapper, JSON."""
    kept = {key: function[key] for key in ("name", "description", "parameters") if key in function}
    return dump_json({"type": "function", "function": kept})


def with_text(content: Content, before: str, after: str) -> Content:
    """Content between two texts; a list stays a list, so that images in a result are kept."""
    if isinstance(content, str):
        return before + content + after
    return _merged([ContentItem(text=before), *content, ContentItem(text=after)])


def concatenated(contents: Sequence[Content], separator: str = "\n") -> Content:
    """Contents one after the other; text as long as all are text."""
    whole: Content = ""
    for content in contents:
        whole = _joined(whole, content, separator)
    return whole


def text_of(content: Content) -> str:
    """Content as text; what is not text is named by its kind and address."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for item in content:
        kind, value = item.get_type_and_value()
        if kind == "text":
            parts.append(value)
        elif isinstance(value, str) and not value.startswith("data:"):
            parts.append(f"![{kind}]({value})" if kind == "image" else f"[{kind}]({value})")
        else:
            parts.append(f"[{kind}]")
    return "\n".join(part for part in parts if part)


def plain_history(messages: Sequence[Message], lang: str = "en") -> list[Message]:
    """The history for a request without tools: calls and results told in a user message.

    A message of the user follows one of the assistant: where two of the user would meet, the first gets the short
    answer ``...``, as Qwen-Agent writes it.
    """
    written: list[Message] = []
    notes = False  # the last message holds notes about tools
    for message in messages:
        if message.role == FUNCTION:
            told = with_text(message.content, *_RESULT_NOTE[_lang(lang)](message.name or ""))
        elif message.function_call is not None:
            if message.content or message.reasoning_content:
                written.append(message.model_copy(update={"function_call": None, "extra": None}))
                notes = False
            call = message.function_call
            told = _CALL_NOTE[_lang(lang)](call.name, arguments_text(call.arguments))
        else:
            if message.role == USER and notes:
                written.append(Message(ASSISTANT, "..."))
            written.append(message)
            notes = False
            continue
        if written and written[-1].role == USER:
            last = written[-1]
            separator = "\n" if notes else "\n\n"
            written[-1] = last.model_copy(update={"content": _joined(last.content, told, separator)})
        else:
            written.append(Message(USER, told))
        notes = True
    return written


_CALL_NOTE: dict[str, Callable[[str, str], str]] = {
    "en": lambda name, arguments: f"[The tool `{name}` was used with {arguments}]",
    "zh": lambda name, arguments: f"[已使用工具 `{name}`，参数：{arguments}]",
}
_RESULT_NOTE: dict[str, Callable[[str], tuple[str, str]]] = {
    "en": lambda name: (f"[Result of the tool `{name}`]\n", "\n[End of the result]"),
    "zh": lambda name: (f"[工具 `{name}` 的结果]\n", "\n[结果结束]"),
}
_CHOICE_NOTE: dict[str, Callable[[str], str]] = {
    "en": lambda name: f"Answer this with a call of the tool `{name}`, and with nothing else.",
    "zh": lambda name: f"请直接调用工具 `{name}` 来处理，不要输出其他内容。",
}


def _lang(lang: str) -> str:
    return "zh" if lang == "zh" else "en"


def _run_of(messages: Sequence[Message], start: int, role: str) -> list[Message]:
    end = start
    while end < len(messages) and messages[end].role == role:
        end += 1
    return list(messages[start:end])


def _joined(first: Content, second: Content, separator: str) -> Content:
    if not first:
        return second
    if not second:
        return first
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{separator}{second}"
    pieces: list[ContentItem] = [ContentItem(text=first)] if isinstance(first, str) else list(first)
    pieces.append(ContentItem(text=separator))
    pieces.extend([ContentItem(text=second)] if isinstance(second, str) else second)
    return _merged(pieces)


def _merged(pieces: Sequence[ContentItem]) -> list[ContentItem]:
    """The parts with neighbouring texts made one, and no empty ones."""
    merged: list[ContentItem] = []
    for piece in pieces:
        if piece.text is None:
            merged.append(piece)
        elif merged and merged[-1].text is not None:
            merged[-1] = ContentItem(text=merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return merged


def _with_tools(messages: list[Message], text: str) -> list[Message]:
    """The tools at the end of the system message, which stays the same from turn to turn."""
    if messages and messages[0].role == SYSTEM:
        head = messages[0]
        return [head.model_copy(update={"content": _joined(head.content, text, "\n\n")}), *messages[1:]]
    return [Message(SYSTEM, text), *messages]


def _with_choice(messages: list[Message], name: str, lang: str) -> list[Message]:
    """The order to call one tool, behind all that is stable."""
    note = _CHOICE_NOTE[_lang(lang)](name)
    if messages[-1].role == USER:
        last = messages[-1]
        return [*messages[:-1], last.model_copy(update={"content": _joined(last.content, note, "\n\n")})]
    if messages[-1].role == SYSTEM:
        last = messages[-1]
        return [*messages[:-1], last.model_copy(update={"content": _joined(last.content, note, "\n\n")})]
    return [*messages, Message(USER, note)]
