"""Two-stage schemas: names and descriptions first, parameters only for the tools that the model chose."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from qwen_agentkit.schema import USER, Message
from qwen_agentkit.system_message import appended

MODES = ("full", "light")

_CHOSEN = {
    "en": "You chose these tools: {names}. Now call them, with arguments that fit their parameters.",
    "zh": "你选择了以下工具：{names}。现在请按照它们的参数定义调用。",
}
_AGAIN = {
    "en": "Your last reply was empty. Call {names} now, or answer without tools.",
    "zh": "上一次的回复是空的。请现在调用 {names}，或者不使用工具直接回答。",
}

Ask = Callable[[list[Message], list[dict[str, Any]]], Iterator[list[Message]]]


def light(function: dict[str, Any]) -> dict[str, Any]:
    """A tool's schema without its parameters."""
    return {**function, "parameters": {"type": "object", "properties": {}}}


def ask_in_two_stages(
    ask: Ask, conversation: list[Message], functions: list[dict[str, Any]], lang: str
) -> Iterator[list[Message]]:
    """One reply of the model in two requests.

    Args:
        ask: Makes a request: (messages, functions) -> growing replies.
        conversation: The conversation.
        functions: The tools in full.
        lang: Language of the instructions, `zh` or `en`.

    Yields:
        The reply so far: the first request's text, then the calls of the second. A first reply without calls is
        the whole reply; a second one with text and no calls takes its place as the answer.
    """
    lang = "zh" if lang == "zh" else "en"
    by_name = {function["name"]: function for function in functions}
    first: list[Message] = []
    for first in ask(conversation, [light(function) for function in functions]):
        yield _without_calls(first)
    chosen = list(dict.fromkeys(message.function_call.name for message in first if message.function_call is not None))
    known = [by_name[name] for name in chosen if name in by_name]
    if not any(function["parameters"].get("properties") for function in known):
        # Nothing to fill in, or nothing that exists: the calls stand as they are.
        yield first
        return
    said = _without_calls(first)
    instruction = _CHOSEN[lang].format(names=", ".join(chosen))
    parameters = [{"name": function["name"], "parameters": function["parameters"]} for function in known]
    second = yield from _calls_of(ask, appended(conversation, instruction), parameters, said)
    if not second:
        firmer = [*appended(conversation, instruction), Message(USER, _AGAIN[lang].format(names=", ".join(chosen)))]
        yield from _calls_of(ask, firmer, parameters, said)


def _calls_of(
    ask: Ask, messages: list[Message], functions: list[dict[str, Any]], said: list[Message]
) -> Generator[list[Message], None, bool]:
    """Yields what was said with the calls of this reply, or its text where it has none. Returns whether it had any."""
    reply: list[Message] = []
    for reply in ask(messages, functions):
        calls = [message for message in reply if message.function_call is not None]
        if calls:
            yield said + calls
    calls = [message for message in reply if message.function_call is not None]
    if not calls and any(message.content for message in reply):
        yield said + reply
    return bool(calls) or any(bool(message.content) for message in reply)


def _without_calls(reply: list[Message]) -> list[Message]:
    return [message for message in reply if message.function_call is None]
