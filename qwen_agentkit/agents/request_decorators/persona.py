"""`Persona`: who the agent is, and what it says when its model fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator
from qwen_agentkit.schema import Message
from qwen_agentkit.system_message import with_system_message


@dataclass(frozen=True)
class Persona(RequestDecorator):
    """Puts a persona in front of the system message.

    Args:
        prompt: The persona.
        error_text: What the agent says in place of raising when its model cannot answer; "" raises.
    """

    prompt: str
    error_text: str = ""

    order = 10

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        return with_system_message(messages, self.prompt)

    def on_error(self, error: Exception) -> str | None:
        return self.error_text or None
