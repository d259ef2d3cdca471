"""Files and images that a conversation's messages carry."""

from __future__ import annotations

import os
from collections.abc import Iterable

from qwen_agentkit.schema import Message


def file_list(files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None) -> list[str]:
    """The `files` of an agent as a list: one name is a list of one, not of its letters.

    Raises:
        ValueError: Something in it is no name of a file.
    """
    if files is None:
        return []
    named = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    for name in named:
        if not isinstance(name, (str, os.PathLike)) or not os.fspath(name):
            raise ValueError(f"files holds paths, folders, patterns and addresses, not {name!r}")
    return [os.fspath(name) for name in named]


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
