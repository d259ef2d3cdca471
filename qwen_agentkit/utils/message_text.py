"""The text in a message."""

from __future__ import annotations

from qwen_agentkit.schema import Message


def text_of(message: Message) -> str:
    """The message's text; of a list, its text items joined."""
    if isinstance(message.content, str):
        return message.content
    return "".join(item.text or "" for item in message.content)
