"""One answer of an agent for an MCP client: progress is told as it comes, a cancelled request stops the run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.mcp_server.sdk import Context, ToolError
from qwen_agentkit.schema import ASSISTANT

# Seconds between two reports of progress.
_REPORT_EVERY = 0.5


@dataclass
class Said:
    """What an agent said.

    Args:
        messages: The response, dicts.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def _last(self) -> Mapping[str, Any]:
        return next((message for message in reversed(self.messages) if _text(message)), {})

    @property
    def text(self) -> str:
        return _text(self._last)

    @property
    def _facts(self) -> Mapping[str, Any]:
        return self._last.get("extra") or {}

    @property
    def citations(self) -> list[dict[str, Any]]:
        return [dict(citation) for citation in self._facts.get("citations") or []]

    @property
    def answered(self) -> bool:
        """What the agent says of it; where it says nothing, whether there is any text."""
        told = self._facts.get("answered")
        return bool(self.text) if told is None else bool(told)

    @property
    def end(self) -> str:
        return str(((self.messages[-1].get("extra") or {}).get("end") if self.messages else None) or "answered")


async def ask(agent: Agent, conversation: Sequence[dict[str, Any]], context: Context) -> Said:
    """Runs an agent over a conversation.

    Args:
        agent: The agent.
        conversation: Dicts, the last one the user's.
        context: Of the request, for progress.

    Raises:
        ToolError: The run failed; one line for the client.
    """
    said, told, calls = Said(), 0.0, 0
    try:
        async for response in agent.arun(list(conversation)):
            said.messages = response
            made = [message["function_call"]["name"] for message in response if message.get("function_call")]
            if len(made) > calls or time.monotonic() - told > _REPORT_EVERY:
                length = sum(len(_text(message)) for message in response)
                doing = f"calls {made[-1]}" if len(made) > calls else f"{length} characters written"
                calls, told = len(made), time.monotonic()
                # It may only grow, and nobody knows where it ends.
                await context.report_progress(float(len(response)) + length / 1_000_000, None, doing)
    except (QwenAgentKitError, ValueError) as error:
        raise ToolError(" ".join(str(error).split()) or type(error).__name__) from error
    return said


def _text(message: Mapping[str, Any]) -> str:
    """What a message says to the user; "" for tool calls and their results."""
    if message.get("role") != ASSISTANT or message.get("function_call"):
        return ""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(item.get("text") or "" for item in content)
