"""Tool calls that wait for a person at the page: what is asked, and `ask_in_page`, which asks from inside a run."""

from __future__ import annotations

import contextvars
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

    def ask(self, questions: list[Question], cancel: CancelToken) -> dict[str, Decision]:
        """Puts questions and waits for all of them; the decisions by call id."""
        with self._lock:
            self._open.update({question.call_id: question for question in questions})
        self._changed()
        decisions = {}
        for question in questions:
            decisions[question.call_id] = question.wait(cancel)
            with self._lock:
                self._open.pop(question.call_id, None)
            self._changed()
        return decisions


# Set in the thread that runs an agent for a page; tools and members of a team run in copies of its context.
asked_here: contextvars.ContextVar[Callable[[Question], Decision] | None] = contextvars.ContextVar(
    "qwen_agentkit_page", default=None
)


def ask_in_page(call: ToolCall) -> Any:
    """An approver that asks the person at the page: `Assistant(..., approve={"refund": ask_in_page})`.

    Also for members of a team and agents that are tools. Where no page runs the agent, the call pauses
    (`extra["end"] = "paused"`), as with `approve="pause"`.
    """
    ask = asked_here.get()
    return PAUSE if ask is None else ask(Question(call.call_id, call.name, call.arguments))
