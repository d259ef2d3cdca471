"""When a talk ends: what all conditions have in common, and how `&` and `|` join them.

A condition is told what is new since it was last asked. It is an object with a memory: `reset()` makes it as new,
`save_state()` and `load_state()` carry it to another process. A team works on a fresh copy in each run, so one
condition may serve many runs at once.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.schema import Message

ANSWERED = "answered"
CANCELLED = "cancelled"


class TerminatedError(RuntimeError):
    """A condition that has fired was asked again without `reset()`."""


@dataclass(frozen=True)
class Stop:
    """That a talk ends, and why.

    Args:
        reason: For people.
        end: For `extra["end"]`: one of the end reasons of a run.
    """

    reason: str
    end: str = ANSWERED


@dataclass
class News:
    """What happened since a condition was last asked.

    Args:
        messages: New messages, in order.
        speakers: The member who said each, None for one from outside.
        task: The messages are the task itself, not yet a turn.
        turns: Turns that ended.
        handed_to: To whom the turn handed over.
        usage: What the run has used in all so far.
        conversation: The whole conversation, the new messages included.
        lang: `en` or `zh`.
    """

    messages: Sequence[Message] = ()
    speakers: Sequence[str | None] = ()
    task: bool = False
    turns: int = 0
    handed_to: str | None = None
    usage: Usage = field(default_factory=Usage)
    conversation: Sequence[Message] = ()
    lang: str = "en"


class Termination(ABC):
    """A condition that ends a talk. A subclass writes `_check`, and names in `_memory` the attributes that change."""

    # Attributes that change, with their values when new.
    _memory: dict[str, Any] = {}
    # Whether the condition fires sooner or later whatever the members say.
    bounded = False

    def __init__(self) -> None:
        self.reset()

    def check(self, news: News) -> Stop | None:
        """Tells the condition what is new.

        Returns:
            Why the talk ends, None when it goes on.

        Raises:
            TerminatedError: The condition has fired before and was not reset.
        """
        if self.fired:
            raise TerminatedError(f"{type(self).__name__} has fired already; call reset() to use it again")
        stop = self._check(news)
        self._fired = stop is not None
        return stop

    def within(self, news: News) -> Stop | None:
        """Whether a turn that is still going on must be broken off. Asked often; remembers nothing.

        Args:
            news: Only `usage` is filled.
        """
        return None

    def seconds_left(self) -> float | None:
        """Seconds until the condition fires by itself, None when time does not matter to it."""
        return None

    @property
    def fired(self) -> bool:
        return self._fired

    def reset(self) -> None:
        """Makes the condition as new."""
        self._fired = False
        for name, value in self._memory.items():
            setattr(self, name, copy.deepcopy(value))

    def fresh(self) -> Termination:
        """A copy as new."""
        copied = copy.copy(self)
        copied.reset()
        return copied

    def save_state(self) -> dict[str, Any]:
        """What the condition remembers, JSON-able."""
        return {"fired": self._fired, **{name: copy.deepcopy(getattr(self, name)) for name in self._memory}}

    def load_state(self, state: dict[str, Any]) -> None:
        """Puts back what `save_state` gave."""
        self._fired = bool(state.get("fired", False))
        for name, value in self._memory.items():
            setattr(self, name, copy.deepcopy(state.get(name, value)))

    @abstractmethod
    def _check(self, news: News) -> Stop | None:
        """Why the talk ends, None when it goes on."""

    def __and__(self, other: Termination) -> Termination:
        return _All([*_members(self, _All), *_members(other, _All)])

    def __or__(self, other: Termination) -> Termination:
        return _Any([*_members(self, _Any), *_members(other, _Any)])


class _Joined(Termination):
    """Conditions joined into one.

    Args:
        members: The conditions.
        bounded: Whether the whole fires sooner or later.
    """

    def __init__(self, members: Sequence[Termination], bounded: bool) -> None:
        for member in members:
            if not isinstance(member, Termination):
                raise TypeError(f"Conditions are joined with conditions, not with {member!r}")
        self.members = list(members)
        self.bounded = bounded
        super().__init__()

    def reset(self) -> None:
        super().reset()
        # Fresh ones, so that a copy of the whole shares no memory with it.
        self.members = [member.fresh() for member in self.members]

    def save_state(self) -> dict[str, Any]:
        return {**super().save_state(), "members": [member.save_state() for member in self.members]}

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        saved = state.get("members", [])
        if len(saved) != len(self.members):
            raise ValueError(f"The state is of {len(saved)} joined conditions; here are {len(self.members)}")
        for member, one in zip(self.members, saved, strict=True):
            member.load_state(one)


class _All(_Joined):
    """Fires when all members have fired; one that has is not asked again."""

    _memory = {"_reasons": {}, "_end": ANSWERED}
    _reasons: dict[str, str]
    _end: str

    def __init__(self, members: Sequence[Termination]) -> None:
        super().__init__(members, all(member.bounded for member in members))

    def _check(self, news: News) -> Stop | None:
        for position, member in enumerate(self.members):
            stop = None if member.fired else member.check(news)
            if stop is not None:
                self._reasons[str(position)] = stop.reason
                self._end = stop.end
        if not all(member.fired for member in self.members):
            return None
        return Stop(", ".join(self._reasons[key] for key in sorted(self._reasons, key=int)), self._end)

    def within(self, news: News) -> Stop | None:
        stops = [member.within(news) for member in self.members if not member.fired]
        return stops[-1] if stops and all(stops) else None

    def seconds_left(self) -> float | None:
        left = [member.seconds_left() for member in self.members if not member.fired]
        known = [seconds for seconds in left if seconds is not None]
        return max(known) if known and len(known) == len(left) else None


class _Any(_Joined):
    """Fires when any member does; all are asked."""

    def __init__(self, members: Sequence[Termination]) -> None:
        super().__init__(members, any(member.bounded for member in members))

    def _check(self, news: News) -> Stop | None:
        stops = [stop for member in self.members if (stop := member.check(news)) is not None]
        return Stop(", ".join(stop.reason for stop in stops), stops[0].end) if stops else None

    def within(self, news: News) -> Stop | None:
        return next((stop for member in self.members if (stop := member.within(news)) is not None), None)

    def seconds_left(self) -> float | None:
        return min((left for member in self.members if (left := member.seconds_left()) is not None), default=None)


def _members(condition: Any, kind: type[_Joined]) -> list[Termination]:
    """Members of one that is joined in the same way, so that `a | b | c` is one condition of three."""
    return condition.members if type(condition) is kind else [condition]
