"""Who decides whether a tool call may be made: a rule, a person, or later, after a pause."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit import events
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.events import ApprovalRequested
from qwen_agentkit.run_context import RunContext

PAUSE = "pause"
# Pauses for calls that text of other people may have asked for, see `ToolCall.risky`.
UNTRUSTED = "untrusted"


@dataclass(frozen=True)
class Decision:
    """What was decided about a call.

    Args:
        allow: Whether it is made.
        reason: Why not; the model is told.
        arguments: Other arguments to make it with, JSON text; None leaves them.
    """

    allow: bool
    reason: str = ""
    arguments: str | None = None

    @classmethod
    def of(cls, value: Any) -> Decision:
        """From True, False, a reason to deny (text), a dict with these fields, or a `Decision`."""
        if isinstance(value, Decision):
            return value
        if isinstance(value, bool):
            return cls(value)
        if isinstance(value, str):
            return cls(False, value)
        if isinstance(value, Mapping) and isinstance(value.get("allow"), bool):
            return cls(value["allow"], str(value.get("reason") or ""), value.get("arguments"))
        raise ValueError(f"A decision is True, False, a reason to deny, or a Decision, not {value!r}")


Approver = Callable[[ToolCall], Any]

# Who is asked at once where a call would else pause its turn: set around a run by what has a person at hand, as the
# web page. Tools and members of teams run in copies of the context, so that their calls are asked about too.
at_hand: contextvars.ContextVar[Approver | None] = contextvars.ContextVar("qwen_agentkit_at_hand", default=None)


def approver_of(rule: bool | str | Mapping[str, Any] | Approver | None) -> Approver | None:
    """The function that decides.

    Args:
        rule: None or True allows all; False denies all; `"pause"` pauses for each; `"untrusted"` pauses for calls with
            side effects while text of documents, pages or tools is in the context (`ToolCall.risky`); a dict decides
            by tool name (a name that is not in it is allowed); a function gets the `ToolCall` and returns True,
            False, a reason, a `Decision`, `"pause"` or `"untrusted"`.
    """
    if rule is None or rule is True:
        return None
    if rule is False or rule in (PAUSE, UNTRUSTED):
        return lambda call: rule
    if isinstance(rule, Mapping):
        by_name = dict(rule)

        def decide(call: ToolCall) -> Any:
            named = by_name.get(call.name, True)
            return named(call) if callable(named) else named

        return decide
    if callable(rule):
        return rule
    raise ValueError(f"approve is True, False, 'pause', 'untrusted', a dict by tool name, or a function, not {rule!r}")


class Remembered:
    """An approver that asks once and remembers.

    Args:
        approver: Who is asked.
        by: `tool` remembers one decision for a tool, `arguments` one for each set of arguments.
    """

    def __init__(self, approver: Approver, by: str = "tool") -> None:
        if by not in ("tool", "arguments"):
            raise ValueError(f"Remembered.by is 'tool' or 'arguments', not {by!r}")
        self._approver = approver
        self._by = by
        self._decided: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def __call__(self, call: ToolCall) -> Any:
        key = (call.name, call.arguments if self._by == "arguments" else "")
        with self._lock:
            if key in self._decided:
                return self._decided[key]
        decision = self._approver(call)
        if decision not in (PAUSE, UNTRUSTED):
            with self._lock:
                self._decided[key] = decision
        return decision


def review(
    calls: Sequence[ToolCall],
    approver: Approver | None,
    run: RunContext | None,
    decisions: Mapping[str, Any] | bool | str | Decision | None = None,
) -> list[ToolCall]:
    """Closes the calls that are denied, and returns those that wait for a decision.

    Args:
        calls: The calls of one reply.
        approver: Who decides, None allows all.
        run: For the `ApprovalRequested` events.
        decisions: Made meanwhile: one for all, or by call id. They come before the approver.
    """
    waiting = []
    for call in calls:
        if call.outcome is not None:
            continue
        given = decisions.get(call.call_id) if isinstance(decisions, Mapping) else decisions
        if given is None:
            given = approver(call) if approver is not None else True
        if given == UNTRUSTED:
            given = PAUSE if call.risky else True
        if given == PAUSE:
            if run is not None:
                run.emit(ApprovalRequested, call_id=call.call_id, name=call.name, arguments=call.arguments)
            ask = at_hand.get()
            if ask is None:
                waiting.append(call)
                continue
            given = ask(call)
        decision = Decision.of(given)
        if decision.arguments is not None:
            call.arguments = decision.arguments
        if not decision.allow:
            reason = f": {decision.reason}" if decision.reason else "."
            call.give_up(run, events.DENIED, f"The call of {call.name} was denied{reason}")
    return waiting
