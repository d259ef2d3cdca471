"""Which tool calls of a run have been told of, so that each is told once.

A call becomes known twice: when its message is yielded, and when the tool is run through `_call_tool`. A
user's own agent may do only one of the two, or the second without an id.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field

from qwen_agentkit.events import OK
from qwen_agentkit.run_context import RunContext


@dataclass
class _Call:
    call_id: str
    name: str
    arguments: str
    by_message: bool
    by_tool: bool
    by_result: bool = False
    outcome: str | None = None


@dataclass
class ToolLedger:
    """The calls of one run, in the order in which they became known."""

    _calls: list[_Call] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def announce(self, call_id: str | None, name: str, arguments: str) -> str | None:
        """A call message was yielded. Returns the id to tell of, None when the call was told of before."""
        with self._lock:
            call = self._find(call_id) or self._unclaimed(name, arguments, by_message=False)
            if call is not None:
                call.by_message = True
                return None
            self._calls.append(_Call(call_id or _new_id(), name, arguments, by_message=True, by_tool=False))
            return self._calls[-1].call_id

    def start(self, call_id: str | None, name: str, arguments: str) -> tuple[str, bool]:
        """A tool starts. Returns the call's id, and whether the start is still to be told of."""
        with self._lock:
            call = self._find(call_id)
            if call is None and call_id is None:
                call = self._unclaimed(name, arguments, by_message=True)
            if call is not None:
                call.by_tool = True
                return call.call_id, False
            self._calls.append(_Call(call_id or _new_id(), name, arguments, by_message=False, by_tool=True))
            return self._calls[-1].call_id, True

    def finish(self, call_id: str, outcome: str) -> bool:
        """A call ended with that outcome. False when its end was told of before (a tool that timed out)."""
        with self._lock:
            call = self._find(call_id)
            if call is None or call.outcome is not None:
                return False
            call.outcome = outcome
            return True

    def outcome(self, call_id: str | None) -> str | None:
        """How a call ended, None while it runs or when it is not known."""
        with self._lock:
            call = self._find(call_id)
            return call.outcome if call is not None else None

    def conclude(self, call_id: str | None, name: str) -> str | None:
        """A result message was yielded. Returns the id to tell of, None when the end was told of before."""
        with self._lock:
            call = self._find(call_id)
            if call is None:
                # No id: the result belongs to the oldest call of that tool that has none yet.
                call = next((one for one in self._calls if one.name == name and not one.by_result), None)
            if call is None:
                return call_id or _new_id()
            call.by_result = True
            if call.outcome is not None:
                return None
            call.outcome = OK
            return call.call_id

    def _find(self, call_id: str | None) -> _Call | None:
        if call_id is None:
            return None
        return next((call for call in reversed(self._calls) if call.call_id == call_id), None)

    def _unclaimed(self, name: str, arguments: str, by_message: bool) -> _Call | None:
        for call in self._calls:
            side = call.by_tool if by_message else call.by_message
            if not side and call.name == name and call.arguments == arguments:
                return call
        return None


def tool_ledger(run: RunContext) -> ToolLedger:
    """The ledger of that run, made at first use."""
    return run.own("tool_ledger", ToolLedger)


def _new_id() -> str:
    return f"call_{uuid.uuid4().hex[:12]}"
