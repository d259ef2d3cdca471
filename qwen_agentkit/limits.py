"""What a run may use (`RunLimits`), what it has used (`Usage`), and the ledger that compares them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, fields
from typing import Any

from qwen_agentkit.errors import RunLimitExceeded


@dataclass(frozen=True)
class RunLimits:
    """Bounds of one run and of everything it starts: sub-agents, tools that are agents, teams. None is no bound.

    Args:
        model_calls: Model calls, every kind.
        tool_calls: Tool calls.
        tokens: Tokens in and out together, as the models report them.
        seconds: Wall time from the start of the run.
        cost: Money, in the unit that the models' prices are given in.
    """

    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(f"RunLimits.{field.name} is a number of at least 0 or None, not {value!r}")


@dataclass
class Usage:
    """What model and tool calls used.

    Args:
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens received, thinking included.
        cached_tokens: The part of `prompt_tokens` that the service took from its cache.
        reasoning_tokens: The part of `completion_tokens` that was thinking.
        cost: Money, 0 where no price is configured.
        model_calls: Model calls.
        tool_calls: Tool calls.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, other: Usage) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def to_dict(self) -> dict[str, Any]:
        """The fields and `total_tokens`, JSON-able."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"total_tokens": self.total_tokens}


class LimitLedger:
    """Counts what a run tree uses against its limits, for all its threads.

    Model and tool calls are reserved before they are made, so that concurrent branches cannot overspend;
    tokens and cost are known only afterwards and stop the next call.
    """

    def __init__(self, limits: RunLimits | None = None, parent: LimitLedger | None = None) -> None:
        self.limits = limits or RunLimits()
        self.used = Usage()
        self.started = time.monotonic()
        self._parent = parent
        self._lock = threading.Lock()

    def reserve(self, which: str) -> None:
        """Takes one `model_calls` or `tool_calls` from the budget.

        Raises:
            RunLimitExceeded: One of the limits is reached; nothing was taken.
        """
        if self._parent is not None:
            self._parent.reserve(which)
        try:
            with self._lock:
                self._check(which)
                setattr(self.used, which, getattr(self.used, which) + 1)
        except RunLimitExceeded:
            if self._parent is not None:
                self._parent._give_back(which)
            raise

    def record(self, usage: Usage) -> None:
        """Adds tokens and cost of a finished call (its call count was reserved before)."""
        counted = Usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            usage.cost,
        )
        with self._lock:
            self.used.add(counted)
        if self._parent is not None:
            self._parent.record(counted)

    def exceeded(self) -> str | None:
        """The limit that stops the next model call, or None."""
        try:
            with self._lock:
                self._check("model_calls")
        except RunLimitExceeded as error:
            return error.which
        return self._parent.exceeded() if self._parent is not None else None

    def remaining(self, which: str) -> float | None:
        """What is left of a limit, None without one. `which` is a field name of RunLimits."""
        own = getattr(self.limits, which)
        left = None if own is None else max(0, own - self._spent(which))
        above = self._parent.remaining(which) if self._parent is not None else None
        return min(left, above) if left is not None and above is not None else (above if left is None else left)

    def _spent(self, which: str) -> float:
        if which == "seconds":
            return time.monotonic() - self.started
        return self.used.total_tokens if which == "tokens" else getattr(self.used, which)

    def _check(self, call: str) -> None:
        for which in (call, "tokens", "seconds", "cost"):
            limit = getattr(self.limits, which)
            if limit is not None and self._spent(which) >= limit:
                raise RunLimitExceeded(which, f"The run reached its limit of {limit} {which.replace('_', ' ')}")

    def _give_back(self, which: str) -> None:
        with self._lock:
            setattr(self.used, which, getattr(self.used, which) - 1)
        if self._parent is not None:
            self._parent._give_back(which)
