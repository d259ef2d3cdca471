"""`ServerRun`: one run of an agent for one user of the server, from the queue to its one terminal event."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit import run_context
from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.events import ApprovalRequested, Event, ReasoningDelta, TextDelta, ToolCallDelta, UsageReported
from qwen_agentkit.follow_ups import FollowUps, Ticket
from qwen_agentkit.limits import RunLimits, Usage
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import Reader
from qwen_agentkit.schema import Message
from qwen_agentkit.server.event_log import EventLog
from qwen_agentkit.server.failures import RequestFailed, of_run
from qwen_agentkit.server.pausing import PAUSED, Pausable
from qwen_agentkit.server.public_events import public_event
from qwen_agentkit.session.session import Session
from qwen_agentkit.utils.answer_text import AnswerText, answer_of

QUEUED, RUNNING, DONE, ERROR, CANCELLED = "queued", "running", "done", "error", "cancelled"
ENDED = frozenset({DONE, ERROR, CANCELLED})

# What a log holds of the answer: each event of the run, or what the answer as one text gained.
EVENTS, ANSWER = "events", "answer"

# Names of entries that are the server's own.
CREATED, STARTED, DELTA, WAITING = "run_created", "run_taken_up", "delta", "run_paused"

FOLLOWED_UP = "follow_up"


@dataclass
class Order:
    """What a run is to do.

    Args:
        agent_id: Name under which the agent is served.
        agent: The agent.
        user_id: Whose run it is.
        messages: What the agent is asked; with a session only what is new.
        session: The session it belongs to.
        style: `events` or `answer`.
        background: Whether the run goes on without readers.
        limits: Its bounds.
        arguments: Further arguments of `Agent.run`.
    """

    agent_id: str
    agent: Agent
    user_id: str
    messages: Sequence[Message]
    session: Session | None = None
    style: str = EVENTS
    background: bool = False
    limits: RunLimits | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


class ServerRun:
    """A run.

    Args:
        order: What it is to do.
        stalled_seconds: See `ServerOptions`.
        ended: Called once, by whichever thread ends the run.

    Attributes:
        id: Its id, hard to guess.
        status: `queued`, `running`, `paused`, `done`, `error` or `cancelled`.
        reason: Why it ended: `extra["end"]` of the answer, or `follow_up` when what was asked went to another run.
        log: Its events.
        response: The response so far.
        usage: What it has used.
        approvals: Calls that wait for a decision, by call id.
        tickets: Texts that were sent to it while it ran.
        failure: The error that ended it, as clients are told.
        readers: HTTP streams that read it.
    """

    def __init__(self, order: Order, stalled_seconds: float, ended: Callable[[ServerRun], object]) -> None:
        self.id = f"run_{secrets.token_hex(12)}"
        self.order = order
        self.cancel = CancelToken()
        self.log = EventLog(
            not order.background, self.to_dict, lambda: self.cancel.cancel("the reader stalled"), stalled_seconds
        )
        self.cancel.on_cancel(self.log.release)
        self.status = QUEUED
        self.reason: str | None = None
        self.created_at = time.time()
        self.started_at: float | None = None
        self.first_text_at: float | None = None
        self.ended_at: float | None = None
        self.paused_at: float | None = None
        self.response: list[Message] = []
        self.usage = Usage()
        self.approvals: dict[str, dict[str, Any]] = {}
        self.tickets: list[Ticket] = []
        self.failure: RequestFailed | None = None
        self.readers = 0
        self._mail = FollowUps()
        self._on_end = ended
        self._lock = threading.Lock()
        self._answer = AnswerText(isinstance(order.agent, MultiAgentHub))
        arguments = {**order.arguments, "cancel": self.cancel}
        if order.limits is not None:
            arguments["limits"] = order.limits
        self._parts = Pausable(order.agent, order.messages, order.session, arguments)
        self.log.append(CREATED, self._identity())

    # ---- the run's thread

    def work(self, decisions: Any = None) -> None:
        """Does the work, up to the end or a pause; blocks.

        Args:
            decisions: About the calls for which the run was paused; None begins it.
        """
        before = self._take_up()
        if before is None:
            return
        # Read when the agent's run begins. This thread serves one run at a time.
        run_context.reader.set(Reader(sink=self._take_event))
        try:
            for response in self._begin(before, decisions):
                self._take_response(response)
        except BaseException as error:
            # Errors of the package say what is wrong; of others the place is wanted.
            place = None if isinstance(error, QwenAgentKitError) else error
            logger.error("The run %s of %s failed: %s", self.id, self.order.agent_id, error, exc_info=place)
            self.fail(error)
        else:
            self._conclude()
        finally:
            run_context.reader.set(None)

    def _take_up(self) -> str | None:
        """The status before; None when the run has been cancelled meanwhile."""
        with self._lock:
            if self.status not in (QUEUED, PAUSED):
                return None
            before, self.status = self.status, RUNNING
            return before

    def _begin(self, before: str, decisions: Any) -> Iterator[list[Any]]:
        if before == QUEUED:
            self.started_at = time.time()
            self.log.append(STARTED, self._identity())
            return self._parts.start(self._mail)
        self.approvals = {}
        self._mail = FollowUps()
        return self._parts.go_on(decisions, self.response, self._mail)

    def _take_event(self, event: Event) -> None:
        """Called in the thread where it happens."""
        if isinstance(event, UsageReported):
            counts = event.usage
            names = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost")
            with self._lock:
                self.usage.add(Usage(**{name: counts.get(name) or 0 for name in names}, model_calls=1))
        elif isinstance(event, ApprovalRequested):
            self.approvals[event.call_id] = {
                "call_id": event.call_id,
                "name": event.name,
                "arguments": event.arguments,
            }
        elif isinstance(event, (TextDelta, ReasoningDelta)):
            if self.first_text_at is None:
                self.first_text_at = time.time()
            if self.order.style == ANSWER:
                return
        elif isinstance(event, ToolCallDelta) and self.order.style == ANSWER:
            return
        self.log.append(event.type, public_event(event))

    def _take_response(self, response: list[Any]) -> None:
        self.response = response
        if self.order.style != ANSWER:
            return
        for kind, piece in self._answer.grow(response):
            self.log.append(DELTA, {"kind": kind, "text": piece})

    def _conclude(self) -> None:
        extra = (self.response[-1].extra or {}) if self.response else {}
        reason = extra.get("end") or "answered"
        if self.cancel.cancelled:
            self._end(CANCELLED, self.cancel.reason or CANCELLED)
        elif reason == PAUSED and self._parts.can_go_on:
            self.paused_at = time.time()
            self._mail.close()
            self.status = PAUSED
            self.log.append(WAITING, {**self._identity(), "approvals": list(self.approvals.values())})
        elif not self.response and self.order.session is not None and self.order.session.store.on_busy == "follow_up":
            self._end(DONE, FOLLOWED_UP)
        else:
            self._end(DONE, reason)

    # ---- any thread

    def fail(self, error: BaseException) -> None:
        """Ends the run with an error."""
        if self.cancel.cancelled:
            self._end(CANCELLED, self.cancel.reason or CANCELLED)
            return
        self.failure = of_run(error, self.id)
        self._end(ERROR, ERROR)

    def end_cancelled(self) -> None:
        """Ends a run that no thread works for: one that waits in the queue, or for a decision."""
        with self._lock:
            if self.status not in (QUEUED, PAUSED):
                return
            paused, self.status = self.status == PAUSED, RUNNING
        if paused:
            try:
                self._parts.give_up(self.response)
            except Exception:
                # The next run in the session repairs its copy of the history all the same.
                logger.exception("The history of a paused run could not be closed")
        self._end(CANCELLED, self.cancel.reason or CANCELLED)

    def _end(self, status: str, reason: str) -> None:
        with self._lock:
            if self.status in ENDED:
                return
            self.status, self.reason, self.ended_at = status, reason, time.time()
        self._mail.close()
        self._on_end(self)
        self.log.end(status, self.to_dict())

    def follow_up(self, text: str) -> Ticket:
        """Sends a text to the run.

        Raises:
            RequestFailed: The run does not take any, or has ended.
        """
        if not self._parts.takes_follow_ups:
            raise RequestFailed(409, f"The agent {self.order.agent_id!r} takes no follow-ups", "no_follow_ups")
        if self.status in ENDED:
            raise RequestFailed(409, f"The run has ended ({self.status})", "run_ended")
        ticket = self._mail.send(text)
        self.tickets.append(ticket)
        return ticket

    @property
    def answer(self) -> str:
        """The text of the response so far."""
        if self.order.style == ANSWER and self._answer.text:
            return self._answer.text
        return answer_of(self.response, isinstance(self.order.agent, MultiAgentHub))

    def _identity(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "agent": self.order.agent_id,
            "session_id": self.order.session.session_id if self.order.session is not None else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """The run as clients see it."""
        return {
            **self._identity(),
            "object": "run",
            "status": self.status,
            "reason": self.reason,
            "background": self.order.background,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "answer": self.answer,
            "messages": [message.model_dump() for message in self.response],
            "usage": self.usage.to_dict(),
            "approvals": list(self.approvals.values()) if self.status == PAUSED else [],
            "follow_ups": [{"text": ticket.text, "status": ticket.status} for ticket in self.tickets],
            "error": self.failure.to_dict()["error"] if self.failure is not None else None,
        }
