"""One question to a model (`Ask`), and the request to its service that comes of it (`ModelRequest`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.profiles import profile_of
from qwen_agentkit.llm.structured import OutputForm
from qwen_agentkit.schema import ASSISTANT, SYSTEM, USER, ContentItem, Message

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel


@dataclass(frozen=True)
class Ask:
    """What `chat` was asked, whichever model answers.

    Args:
        messages: The conversation, copied and valid.
        functions: Schemas of the tools.
        generate_cfg: Settings of this call alone, laid over each model's own.
        stream: Whether the answer is read as it arrives.
        lang: `en` or `zh`.
        form: Form that the answer must have, None for free text.
    """

    messages: list[Message]
    functions: list[dict[str, Any]] = field(default_factory=list)
    generate_cfg: dict[str, Any] = field(default_factory=dict)
    stream: bool = True
    lang: str = "en"
    form: OutputForm | None = None


@dataclass(frozen=True)
class ModelRequest:
    """What a backend turns into one request to its service.

    Args:
        messages: The conversation as the service is to see it: cut to length, tools put into the text where they
            are not given natively, media reduced to what the model takes.
        functions: Schemas of tools to be given in the service's own way; empty when there are none or a dialect
            has put them into the text.
        options: The framework's own options: stop words, token limit, thinking, function choice.
        generate_cfg: Further settings, to be sent as they are.
        stream: Whether to read the answer as it arrives.
        lang: `en` or `zh`.
        continues: The last message is the beginning of the answer, which the model is to go on from.
        offered: Schemas of the tools that the model may call, however it is told of them.
        form: Form of the answer, to be given in the service's own way; None when there is none or it is given as a
            tool or in the text.
    """

    messages: list[Message]
    functions: list[dict[str, Any]] = field(default_factory=list)
    options: GenerateOptions = field(default_factory=GenerateOptions)
    generate_cfg: dict[str, Any] = field(default_factory=dict)
    stream: bool = True
    lang: str = "en"
    continues: bool = False
    offered: list[dict[str, Any]] = field(default_factory=list)
    form: OutputForm | None = None


def one_system_message(messages: Sequence[Message]) -> list[Message]:
    """All system messages in one, at the front: services take no second one."""
    systems = [message for message in messages if message.role == SYSTEM]
    if not systems or (len(systems) == 1 and messages[0].role == SYSTEM):
        return list(messages)
    content: str | list[ContentItem]
    if all(isinstance(message.content, str) for message in systems):
        content = "\n\n".join(str(message.content) for message in systems if message.content)
    else:
        content = []
        for message in systems:
            parts = [ContentItem(text=message.content)] if isinstance(message.content, str) else message.content
            content.extend(parts)
    first = systems[0].model_copy(update={"content": content})
    return [first, *(message for message in messages if message.role != SYSTEM)]


def form_way(model: BaseChatModel, native_tools: bool, refused: bool) -> str:
    """How a model is told the form of its answer: `native`ly, as a `tool`, or in the `prompt`."""
    knows = profile_of(model).json
    if model.native_json and knows is not False and not refused:
        return "native"
    return "tool" if native_tools and knows is False else "prompt"


def with_instruction(messages: Sequence[Message], text: str) -> list[Message]:
    """The messages with an instruction at the end of the last user's message, or in a new one."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != USER:
            continue
        content: str | list[ContentItem]
        if isinstance(message.content, str):
            content = f"{message.content}\n\n{text}"
        else:
            content = [*message.content, ContentItem(text=f"\n\n{text}")]
        return [*messages[:position], message.model_copy(update={"content": content}), *messages[position + 1 :]]
    return [*messages, Message(USER, text)]


def begin_in_prompt(messages: Sequence[Message]) -> list[Message]:
    """Puts the beginning of an answer into the user's message, for services that cannot go on from a prefix."""
    *rest, beginning = messages
    if not rest or rest[-1].role != USER or not isinstance(rest[-1].content, str):
        return [*rest, beginning]
    text = beginning.content if isinstance(beginning.content, str) else "".join(i.text or "" for i in beginning.content)
    return [*rest[:-1], rest[-1].model_copy(update={"content": f"{rest[-1].content}\n\n{text}"})]


def is_beginning(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends in an assistant's text that wants going on."""
    last = messages[-1] if messages else None
    return last is not None and last.role == ASSISTANT and last.function_call is None and bool(last.content)
