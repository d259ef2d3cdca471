"""Handoffs between members: what a member may still hand over, and what the other one is given."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.schema import FUNCTION, USER, ContentItem, Message


class HandoffBounds:
    """Counts the handoffs of a run, in all and between each two members, in the team's state.

    Args:
        state: The team's state.
        max_handoffs: Handoffs of one run; None is no bound.
        max_ping_pong: Handoffs of one run between the same two, both ways together; None is no bound.
    """

    def __init__(self, state: TeamState, max_handoffs: int | None = None, max_ping_pong: int | None = None) -> None:
        self._state = state
        self._max_handoffs = max_handoffs
        self._max_ping_pong = max_ping_pong

    @property
    def _memory(self) -> dict[str, Any]:
        return self._state.rule("handoffs")

    def begin(self) -> None:
        """A new run. Who was handed the conversation and has not spoken still comes first."""
        self._memory.update(count=0, pairs={})

    def may(self, source: str, target: str) -> bool:
        """Whether `source` may hand over to `target` once more."""
        if self._max_handoffs is not None and self._memory["count"] >= self._max_handoffs:
            return False
        return self._max_ping_pong is None or self.between(source, target) < self._max_ping_pong

    def between(self, one: str, other: str) -> int:
        """Handoffs made between the two in this run."""
        return self._memory["pairs"].get(_pair(one, other), 0)

    def note(self, source: str, target: str) -> None:
        """A handoff was made; `target` speaks next."""
        memory = self._memory
        memory["count"] += 1
        memory["pairs"][_pair(source, target)] = self.between(source, target) + 1
        memory["to"] = target

    def take_target(self) -> str | None:
        """Who was handed the conversation and has not spoken yet."""
        return self._memory.pop("to", None)


def _pair(one: str, other: str) -> str:
    # JSON has no pairs as keys.
    return "\n".join(sorted((one, other)))


def as_member(agent: Agent) -> Agent:
    """The agent as a team runs it: its handoffs end its turn and come back to the team, which bounds them."""
    if not getattr(agent, "handoff_map", None):
        return agent
    member: Any = copy.copy(agent)
    member.handoff_mode = "return"
    member.max_handoffs = sys.maxsize
    return member


def with_open_handoffs(agent: Agent, bounds: HandoffBounds) -> Agent:
    """The member with the transfer tools it may still use; without any it must answer by itself."""
    tools: dict[str, Any] = getattr(agent, "handoff_map", None) or {}
    allowed = {name: tool for name, tool in tools.items() if bounds.may(agent.name or "", tool.handoff.target_name)}
    if len(allowed) == len(tools):
        return agent
    member: Any = copy.copy(agent)
    member.handoff_map = allowed
    return member


def filtered(view: list[Message], source: Agent | None, target: str) -> list[Message]:
    """The target's view as the handoff's own filter leaves it."""
    for tool in (getattr(source, "handoff_map", None) or {}).values():
        handoff = tool.handoff
        if handoff.target_name == target and handoff.input_filter is not None:
            return list(handoff.input_filter(view))
    return view


def handed_over_to(name: str, messages: Sequence[Message], owners: Sequence[str | None]) -> set[int]:
    """Positions of the messages in turns that ended by handing over to `name`."""
    positions: set[int] = set()
    for end, message in enumerate(messages):
        handoff = (message.extra or {}).get("handoff")
        if not isinstance(handoff, dict) or handoff.get("target") != name:
            continue
        start = end
        while start >= 0 and owners[start] == owners[end] and messages[start].role != USER:
            positions.add(start)
            start -= 1
    return positions


def shown_result(message: Message, speaker: str, handoff_message: str) -> list[ContentItem]:
    """What the other agent sees of a tool result in a turn that handed over to it."""
    if message.role != FUNCTION:
        return []
    items = [ContentItem(text=message.content)] if isinstance(message.content, str) else list(message.content)
    text = "\n".join(item.text for item in items if item.text)
    if text == handoff_message:
        label = speaker
    elif (message.name or "").startswith("transfer_to_"):
        return []  # a second handoff, that was not carried out
    else:
        label = f"{speaker} [{message.name}]"
    return [ContentItem(text=f"{label}: {text}".rstrip()), *(item for item in items if item.type != "text")]
