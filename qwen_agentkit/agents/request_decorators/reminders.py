"""`Reminders`: who asks, where, and what time it is."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator, with_user_text
from qwen_agentkit.schema import Message

_LABELS = {
    "en": {"user": "User", "group": "Group", "time": "Time"},
    "zh": {"user": "用户", "group": "群组", "time": "时间"},
}


@dataclass(frozen=True)
class Reminders(RequestDecorator):
    """Puts facts about the moment behind the last user message, where they leave the cached prompt in front whole.

    Args:
        user: Name of who asks; "" leaves it out.
        group: Name of the group chat.
        time: True for the time of the machine, a function that gives a `datetime`, or False.
    """

    user: str = ""
    group: str = ""
    time: bool | Callable[[], datetime.datetime] = True

    order = 60

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        labels = _LABELS["zh" if lang == "zh" else "en"]
        lines = [f"{labels[key]}: {value}" for key, value in (("user", self.user), ("group", self.group)) if value]
        if self.time:
            now = self.time() if callable(self.time) else datetime.datetime.now().astimezone()
            lines.append(f"{labels['time']}: {now.isoformat(sep=' ', timespec='minutes')}")
        return with_user_text(messages, "[" + "; ".join(lines) + "]") if lines else messages
