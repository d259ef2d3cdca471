"""Notices when a model goes round in circles: the same call again and again, or a cycle of a few."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from qwen_agentkit.agents.loop.tool_round import ToolCall

_NOTES = {
    "en": (
        "Note: this is the same call for the {n}th time in a row. Look at what it returned before you repeat it.",
        "Note: the same call {n} times in a row. Do not make it again unless something has changed.",
        "Note: the same call {n} times in a row. Stop repeating it: go about it differently, or answer with what is "
        "known and say what is missing.",
    ),
    "zh": (
        "提示：这是连续第 {n} 次相同的调用。再次调用之前，请先看看它返回了什么。",
        "提示：相同的调用已连续出现 {n} 次。除非情况有变，请不要再次调用。",
        "提示：相同的调用已连续出现 {n} 次。请停止重复，换一种做法，或根据已知内容作答并说明缺少什么。",
    ),
}
# Streaks at which the notes come; the last note stays.
_LEVELS = (3, 4, 5)
_LONGEST_CYCLE = 4


@dataclass(frozen=True)
class RepeatGuard:
    """Counts repeated calls over a turn.

    Args:
        by: `call`: the same tool with equal arguments. `tool`: the same tool whatever its arguments, unless its
            results differ.
        stop_at: Streak at which the turn ends with `limit:repeats`; None never ends it.
    """

    by: str = "call"
    stop_at: int | None = None

    def __post_init__(self) -> None:
        if self.by not in ("call", "tool"):
            raise ValueError(f"RepeatGuard.by is 'call' or 'tool', not {self.by!r}")
        if self.stop_at is not None and self.stop_at < 2:
            raise ValueError(f"RepeatGuard.stop_at is at least 2 or None, not {self.stop_at!r}")

    def streak(self, calls: Sequence[ToolCall]) -> int:
        """How often the last of the calls, or the cycle it ends, was made in a row."""
        keys = [self._key(call) for call in calls]
        best = 1
        for length in range(1, _LONGEST_CYCLE + 1):
            cycle = keys[-length:]
            if length > 1 and len(set(cycle)) == 1:
                continue
            times = 1
            while keys[-length * (times + 1) : -length * times] == cycle:
                times += 1
            # A cycle of one is a plain repeat; a longer one must have come round at least twice to be one.
            if length == 1 or times >= 2:
                best = max(best, times)
        return best

    def note(self, calls: Sequence[ToolCall], lang: str) -> str | None:
        """What the model is told with the result of the last of the calls, None when there is nothing to say."""
        streak = self.streak(calls)
        level = sum(streak >= at for at in _LEVELS)
        if level == 0:
            return None
        return _NOTES["zh" if lang == "zh" else "en"][level - 1].format(n=streak)

    def must_stop(self, calls: Sequence[ToolCall]) -> bool:
        return self.stop_at is not None and self.streak(calls) >= self.stop_at

    def _key(self, call: ToolCall) -> tuple[str, str]:
        if self.by == "tool":
            return call.name, str(call.result)
        return call.name, _canonical(call.arguments)


def _canonical(arguments: str) -> str:
    """Arguments that mean the same are the same text: key order and white space do not count."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments
