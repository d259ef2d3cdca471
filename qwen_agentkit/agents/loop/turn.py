"""What one turn of a tool-using agent knows, and its form on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.schema import USER, ContentItem, Message, messages_from
from qwen_agentkit.tools.base import BaseTool

STATE_VERSION = 1


@dataclass
class Turn:
    """One turn: it belongs to one run, so the agent itself never changes.

    Args:
        conversation: What the model gets.
        lang: `zh` or `en`.
        budget: Model calls that the turn may make.
        kwargs: The run's arguments for tools.
        response: What was said so far.
        rounds: The tool rounds so far, each the calls of one reply.
        calls: The calls of the last reply that are still to be made.
        model_calls: Model calls made.
        tools: The tools at this moment, by name.
        end: Why the turn has ended, None while it goes on.
        follow_ups: The run's mailbox, None without one; no part of a saved turn.
    """

    conversation: list[Message]
    lang: str
    budget: int
    kwargs: dict[str, Any] = field(default_factory=dict)
    response: list[Message] = field(default_factory=list)
    rounds: list[list[ToolCall]] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    model_calls: int = 0
    tools: dict[str, BaseTool] = field(default_factory=dict)
    end: str | None = None
    follow_ups: FollowUps | None = None

    def say(self, messages: list[Message]) -> None:
        """Takes messages into the response and into what the model gets."""
        self.response = self.response + messages
        self.conversation = self.conversation + messages

    @property
    def results(self) -> list[Message]:
        """Result messages of the calls that are closed, up to the first that is open."""
        results = []
        for call in self.calls:
            if call.outcome is None:
                break
            results.append(call.message)
        return results

    @property
    def all_calls(self) -> list[ToolCall]:
        return [call for calls in self.rounds for call in calls]

    def close_round(self) -> None:
        """The calls of the last reply are all made."""
        self.say(self.results)
        self.rounds = [*self.rounds, self.calls]
        self.calls = []

    def to_dict(self, agent: str | None, as_dicts: bool) -> dict[str, Any]:
        """The turn as JSON can hold it. Run arguments that JSON cannot hold are left out."""
        return {
            "version": STATE_VERSION,
            "agent": agent,
            "as_dicts": as_dicts,
            "conversation": [message.model_dump() for message in self.conversation],
            "response": [message.model_dump() for message in self.response],
            "rounds": [[_call_to_dict(call) for call in calls] for calls in self.rounds],
            "calls": [_call_to_dict(call) for call in self.calls],
            "model_calls": self.model_calls,
            "end": None if self.end == "paused" else self.end,
            "lang": self.lang,
            "kwargs": {key: value for key, value in self.kwargs.items() if _is_json(value)},
        }


@dataclass(frozen=True)
class Resumption:
    """A saved turn that goes on.

    Args:
        state: What `Turn.to_dict` gave.
        decisions: About the calls that waited: one for all, or by call id.
    """

    state: Mapping[str, Any]
    decisions: Mapping[str, Any] | bool | None = None

    def __post_init__(self) -> None:
        version = self.state.get("version") if isinstance(self.state, Mapping) else None
        if version != STATE_VERSION:
            raise ValueError(
                f"This is no saved turn of a version that can be resumed: version {version!r}, wanted {STATE_VERSION}"
            )

    @property
    def given_messages(self) -> list[Any]:
        """Messages to call `run` with: they say only whether dicts are wanted; the turn has its own."""
        return [{"role": USER, "content": ""}] if self.state["as_dicts"] else [Message(USER, "")]

    @property
    def conversation(self) -> list[Message]:
        """What the model was given and said up to the pause."""
        return messages_from(self.state["conversation"])

    def turn(self, budget: int) -> Turn:
        state = self.state
        return Turn(
            conversation=self.conversation,
            lang=state["lang"],
            budget=budget,
            kwargs=dict(state["kwargs"]),
            response=messages_from(state["response"]),
            rounds=[[_call_from_dict(call) for call in calls] for calls in state["rounds"]],
            calls=[_call_from_dict(call) for call in state["calls"]],
            model_calls=state["model_calls"],
            end=state["end"],
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Resumption:
        return self


class Checkpoint:
    """Where a run leaves its state: `agent.run(messages, checkpoint=saved)`, then `saved.state`.

    Args:
        save: Called with each new state, a dict that JSON can hold; to write it to disk, say.

    Attributes:
        state: The newest state, None before the first. `agent.resume(state, decisions)` goes on from it.
    """

    def __init__(self, save: Callable[[dict[str, Any]], object] | None = None) -> None:
        self.state: dict[str, Any] | None = None
        self._save = save

    def put(self, state: dict[str, Any]) -> None:
        self.state = state
        if self._save is not None:
            self._save(state)

    def __deepcopy__(self, memo: dict[int, object]) -> Checkpoint:
        return self


def _call_to_dict(call: ToolCall) -> dict[str, Any]:
    return {
        "call_id": call.call_id,
        "name": call.name,
        "arguments": call.arguments,
        "outcome": call.outcome,
        "content": _content_to_json(call.content),
        "result": _content_to_json(call.result),
    }


def _call_from_dict(state: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        state["call_id"],
        state["name"],
        state["arguments"],
        state["outcome"],
        _content_from_json(state["content"]),
        _content_from_json(state["result"]),
    )


def _content_to_json(content: str | list[ContentItem] | None) -> Any:
    return [item.model_dump() for item in content] if isinstance(content, list) else content


def _content_from_json(content: Any) -> str | list[ContentItem] | None:
    return [ContentItem(**item) for item in content] if isinstance(content, list) else content


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
