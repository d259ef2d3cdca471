"""`Attachments`: which files came with the conversation, and what they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator, with_user_text
from qwen_agentkit.schema import Message
from qwen_agentkit.utils.message_files import files_of

_HEADS = {"en": "Files of this conversation:", "zh": "本次对话中的文件："}


@dataclass(frozen=True)
class Attachments(RequestDecorator):
    """Lists the conversation's files by name and size, for tools that take a path.

    Args:
        most: Files listed, newest last.
    """

    most: int = 20

    order = 40

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        files = files_of(messages)[-self.most :]
        if not files:
            return messages
        lines = [f"- {file}{_size(file)}" for file in files]
        return with_user_text(messages, "\n".join([_HEADS["zh" if lang == "zh" else "en"], *lines]))


def _size(file: str) -> str:
    try:
        return f" ({os.path.getsize(file):,} bytes)"
    except OSError:
        return ""  # an address, or a file that is gone: the name still helps
