"""`Handoff`: passing the conversation on to another agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.schema import Message
from qwen_agentkit.tools.base import BaseTool

RULES = ("always", "only_on_failure")

_NOT_IDENTIFIER = re.compile(r"\W+")


@dataclass(frozen=True)
class Handoff:
    """That an agent may pass the conversation on to another.

    Args:
        target: The other agent, or its name where a team knows it.
        name: Name of the tool that does it, an identifier; `transfer_to_<target>` in lower case by default.
        description: When to use it; "Handoff to <target>." by default.
        message: What the other agent is told.
        rule: `always`, or `only_on_failure`: only after a tool of this turn failed.
        input_filter: Gets the messages that would be passed on, returns those that are.
    """

    target: Agent | str
    name: str = ""
    description: str = ""
    message: str = ""
    rule: str = "always"
    input_filter: Callable[[list[Message]], list[Message]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        target = self.target_name
        if not target:
            raise ValueError("The target of a handoff is an agent with a name, or a name")
        if self.rule not in RULES:
            raise ValueError(f"Handoff.rule is one of {', '.join(RULES)}, not {self.rule!r}")
        if not self.name:
            # Python's \w keeps letters of every script, so a Chinese name stays readable.
            object.__setattr__(self, "name", f"transfer_to_{_NOT_IDENTIFIER.sub('_', target).lower()}")
        if not self.name.isidentifier():
            raise ValueError(f"Handoff.name is an identifier, not {self.name!r}")
        if not self.description:
            object.__setattr__(self, "description", f"Handoff to {target}.")
        if not self.message:
            object.__setattr__(self, "message", f"Transferred to {target}, who takes over at once.")

    @property
    def target_name(self) -> str:
        return self.target if isinstance(self.target, str) else (self.target.name or "")


class HandoffTool(BaseTool):
    """The tool by which a model makes a handoff.

    Args:
        handoff: The handoff it stands for.
    """

    parameters = {"type": "object", "properties": {}}
    untrusted = False

    def __init__(self, handoff: Handoff) -> None:
        self.handoff = handoff
        self.name = handoff.name
        self.description = handoff.description
        super().__init__()

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The message for the other agent. Whatever the model wrote as arguments does not matter."""
        return self.handoff.message


def handoff_tools(handoffs: Sequence[Agent | Handoff | str] | None, taken: set[str]) -> dict[str, HandoffTool]:
    """The tools for a list of handoffs, by name.

    Raises:
        ValueError: Two of one name, or one that is a tool's.
    """
    tools: dict[str, HandoffTool] = {}
    for item in handoffs or ():
        handoff = item if isinstance(item, Handoff) else Handoff(item)
        if handoff.name in tools:
            raise ValueError(f"Two handoffs are named {handoff.name!r}")
        if handoff.name in taken or handoff.target_name in taken:
            raise ValueError(f"The handoff {handoff.name!r} to {handoff.target_name!r} has the name of a tool")
        tools[handoff.name] = HandoffTool(handoff)
    return tools
