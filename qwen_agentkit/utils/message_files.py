"""Files and images that a conversation's messages carry."""

from __future__ import annotations

from collections.abc import Iterable

from qwen_agentkit.schema import Message


def files_of(messages: Iterable[Message]) -> list[str]:
    """Every `file` item, in order of first appearance, each once."""
    return _values(messages, "file")


def images_of(messages: Iterable[Message]) -> list[str]:
    """Every `image` item, in order of first appearance, each once."""
    return _values(messages, "image")


def _values(messages: Iterable[Message], kind: str) -> list[str]:
    found: dict[str, None] = {}
    for message in messages:
        if isinstance(message.content, list):
            for item in message.content:
                value = getattr(item, kind)
                if value:
                    found[value] = None
    return list(found)
