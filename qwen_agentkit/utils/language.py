"""Which of the two prompt languages a text asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def has_chinese(text: str) -> bool:
    return CJK.search(text) is not None


def detect_language(messages: Iterable[Any], roles: tuple[str, ...] = ("system", "user")) -> str:
    """`zh` when any text of those roles has a Chinese character, else `en`."""
    for message in messages:
        if message["role"] not in roles:
            continue
        content = message["content"]
        parts = [content] if isinstance(content, str) else [_text(item) for item in content or ()]
        if any(has_chinese(part) for part in parts):
            return "zh"
    return "en"


def _text(item: Any) -> str:
    value = item.get("text") if isinstance(item, Mapping) or hasattr(item, "get") else item
    return value if isinstance(value, str) else ""
