"""Reading what the strategies' model calls gave."""

from __future__ import annotations

import json
from typing import Any

from qwen_agentkit.llm.arguments import repair_arguments
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.utils.message_text import text_of


def last_text(messages: list[Message]) -> str:
    """Text of the last user message."""
    return next((text_of(message) for message in reversed(messages) if message.role == USER), "")


def read_object(content: Any) -> dict[str, Any]:
    """The JSON object in a reply, read with tolerance; {} when there is none."""
    text = content if isinstance(content, str) else "".join(item.text or "" for item in content)
    repaired = repair_arguments(text)
    if repaired.error or not repaired.arguments_json:
        return {}
    value = json.loads(repaired.arguments_json)
    return value if isinstance(value, dict) else {}


def keywords_of(content: Any) -> list[str]:
    """The words of a keyword reply, each once."""
    found: dict[str, None] = {}
    for key in ("keywords_zh", "keywords_en"):
        words = read_object(content).get(key)
        for word in [words] if isinstance(words, str) else words or []:
            if isinstance(word, str) and word.strip():
                found[word.strip()] = None
    return list(found)
