"""Putting an agent's system message into a conversation."""

from __future__ import annotations

from qwen_agentkit.schema import SYSTEM, ContentItem, Message


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
    """The conversation with `text` at the end of its system message, made if there is none."""
    if not messages or messages[0].role != SYSTEM:
        return [Message(SYSTEM, text), *messages]
    head = messages[0]
    if isinstance(head.content, str):
        content: str | list[ContentItem] = f"{head.content}{separator}{text}" if head.content else text
    else:
        content = [*head.content, ContentItem(text=(separator if head.content else "") + text)]
    return [head.model_copy(update={"content": content}), *messages[1:]]
