"""Tool calls that wait for a person at the page: what is asked, and `ask_in_page`, which asks from inside a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agents.loop.approval import PAUSE, Decision
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.cancel import CancelToken


@dataclass
class Question:
    """A call that waits.

    Args:
        call_id: Its id.
        name: The tool.
        arguments: JSON text.
    """

    call_id: str
    name: str
    arguments: str
    _decision: Decision | None = field(default=None, repr=False)
    _decided: threading.Event = field(default_factory=threading.Event, repr=False)

    def decide(self, decision: Decision) -> None:
        """Answers the question; only the first answer counts."""
        if not self._decided.is_set():
            self._decision = decision
            self._decided.set()

    def wait(self, cancel: CancelToken) -> Decision:
        """Waits for the answer; a run that is cancelled meanwhile makes no call."""
        forget = cancel.on_cancel(lambda: self.decide(Decision(False, "the run was stopped")))
        try:
            self._decided.wait()
        finally:
            forget()
        return self._decision or Decision(False)


class Questions:
    """The questions of one run that are open.

    Args:
        changed: Called when one is asked or answered.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._open: dict[str, Question] = {}
        self._lock = threading.Lock()
        self._changed = changed

    @property
    def first(self) -> Question | None:
        """The one to be shown."""
        with self._lock:
            return next(iter(self._open.values()), None)

    def answer(self, call_id: str, decision: Decision) -> bool:
        """Answers a question; False when it is open no more."""
        with self._lock:
            question = self._open.get(call_id)
        if question is None:
            return False
        question.decide(decision)
        return True

    def ask(self, call: ToolCall, cancel: CancelToken) -> Decision:
        """Puts a question and waits for the answer."""
        question = Question(call.call_id, call.name, call.arguments)
        with self._lock:
            self._open[call.call_id] = question
        self._changed()
        try:
            return question.wait(cancel)
        finally:
            with self._lock:
                self._open.pop(call.call_id, None)
            self._changed()


def ask_in_page(call: ToolCall) -> Any:
    """An approver that asks the person at the page: `Assistant(..., approve={"refund": ask_in_page})`.

    The same as `"pause"`, by another name: at a page the person is asked, for members of a team and agents that are
    tools too; where no page runs the agent, the call pauses (`extra["end"] = "paused"`).
    """
    return PAUSE
