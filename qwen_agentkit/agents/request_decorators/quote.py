"""`Quote`: the earlier message that the user answers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator, with_user_text
from qwen_agentkit.schema import Message

_TEXTS = {"en": "The user refers to this message{by}:\n{text}", "zh": "用户引用了以下消息{by}：\n{text}"}


@dataclass(frozen=True)
class Quote(RequestDecorator):
    """Shows the model a message that the user quotes.

    Args:
        text: The quoted text.
        sender: Whose it is.
    """

    text: str
    sender: str = ""

    order = 50

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        lang = "zh" if lang == "zh" else "en"
        by = ({"en": " by {}", "zh": "（来自 {}）"}[lang].format(self.sender)) if self.sender else ""
        quoted = "\n".join(f"> {line}" for line in self.text.splitlines())
        return with_user_text(messages, _TEXTS[lang].format(by=by, text=quoted), before=True)
