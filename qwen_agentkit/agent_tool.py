"""An agent as a tool of another: `agent.as_tool()`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.schema import ASSISTANT, USER, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool

if TYPE_CHECKING:
    from qwen_agentkit.agent import Agent

_NOT_WORD = re.compile(r"\W+")


class AgentTool(BaseTool):
    """Lets a model hand a task to an agent.

    The agent's run is part of the run that calls it: one budget, one cancel, its events under its own name. Two
    calls at once are two runs.

    Args:
        agent: The agent.
        name: The tool's name; the agent's by default.
        description: What it is good for; the agent's by default.
    """

    parameters = {
        "type": "object",
        "properties": {
            "request": {
                "type": "string",
                "description": "The task, with everything that is needed to do it: the agent sees nothing else.",
            }
        },
        "required": ["request"],
    }
    # An agent bounds itself, by its limits and by those of the run that it is part of.
    timeout = float("inf")

    def __init__(self, agent: Agent, name: str | None = None, description: str | None = None) -> None:
        given = name or agent.name or ""
        self.name = _NOT_WORD.sub("_", given).strip("_")
        if not self.name:
            raise ValueError("An agent that is to be a tool needs a name: as_tool(name=...)")
        self.description = description or agent.description or f"Asks the agent {given}."
        super().__init__()
        self.agent = agent

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str | list[ContentItem]:
        """The agent's answer.

        Raises:
            ToolServiceError: The agent gave none.
        """
        request = self._verify_json_format_args(params)["request"]
        passed = {key: value for key, value in kwargs.items() if key not in ("messages", "files")}
        for message in reversed(self.agent.run_nonstream([Message(USER, request)], **passed)):
            if message.role == ASSISTANT and message.function_call is None and message.content:
                return message.content
        raise ToolServiceError(message=f"The agent {self.name} gave no answer")
