"""The text in a message."""

from __future__ import annotations

from qwen_agentkit.schema import USER, Message


def text_of(message: Message) -> str:
    """The message's text; of a list, its text items joined."""
    if isinstance(message.content, str):
        return message.content
    return "".join(item.text or "" for item in message.content)


def follow_up_text(message: Message) -> str | None:
    """The text to send to a run that is under way; None for what is not a user's text alone: it needs a turn."""
    whole = isinstance(message.content, str) or all(item.text is not None for item in message.content)
    text = text_of(message)
    return text if message.role == USER and whole and text.strip() else None
