"""Putting an agent's system message into a conversation."""

from __future__ import annotations

from qwen_agentkit.schema import SYSTEM, ContentItem, Message
from qwen_agentkit.utils.knowledge import read_knowledge, strip_knowledge


def with_system_message(messages: list[Message], text: str | None) -> list[Message]:
    """The conversation with `text` as, or in front of, its first system message.

    Args:
        messages: The conversation; not changed.
        text: The agent's system message; nothing is added when it is empty.

    Returns:
        A new list. An existing first system message is kept behind the text and a blank line.
    """
    if not text:
        return list(messages)
    if not messages or messages[0].role != SYSTEM:
        return [Message(SYSTEM, text), *messages]
    return [prepended(messages[0], text), *messages[1:]]


def prepended(message: Message, text: str, separator: str = "\n\n") -> Message:
    """A copy of the message with `text` in front of its content, be that text or a list."""
    if isinstance(message.content, str):
        content: str | list[ContentItem] = f"{text}{separator}{message.content}" if message.content else text
    else:
        content = [ContentItem(text=text + separator if message.content else text), *message.content]
    return message.model_copy(update={"content": content})


def appended(messages: list[Message], text: str, separator: str = "\n\n") -> list[Message]:
    """The conversation with `text` at the end of its system message, made if there is none.

    A knowledge block stays last, behind the text: what changes from question to question must not stand in front of
    what stays, or services could not reuse their cache of it.
    """
    if not messages or messages[0].role != SYSTEM:
        return [Message(SYSTEM, text), *messages]
    head = messages[0]
    if isinstance(head.content, str):
        before = strip_knowledge(head.content)
        block = head.content[len(before) :].lstrip("\n")
        content: str | list[ContentItem] = separator.join(part for part in (before, text, block) if part)
    else:
        at = next((n for n, item in enumerate(head.content) if item.text and read_knowledge(item.text)), None)
        at = len(head.content) if at is None else at
        item = ContentItem(text=(separator if at else "") + text + (separator if at < len(head.content) else ""))
        content = [*head.content[:at], item, *head.content[at:]]
    return [head.model_copy(update={"content": content}), *messages[1:]]
