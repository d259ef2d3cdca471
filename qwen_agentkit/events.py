"""What happens in a run, as frozen dataclasses: `for event in agent.run_events(messages): ...`.

Every event carries the run and agent it belongs to (a sub-agent's run has its parent's id in
`parent_run_id`), a number that grows over the whole run tree, and the time in seconds since 1970.
`event.type` is the class name in snake case; `event.to_dict()` is JSON-able.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

# Outcomes of a tool call.
OK = "ok"
BAD_ARGUMENTS = "bad_arguments"
UNKNOWN_TOOL = "unknown_tool"
FAILED = "failed"
TIMED_OUT = "timed_out"
DENIED = "denied"
CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events carry.

    Args:
        run_id: The run the event belongs to.
        parent_run_id: The run that started that one, None for the outermost.
        agent: Name of the agent whose run it is.
        seq: Grows by at least 1 from event to event of one run tree.
        time: Seconds since 1970.
    """

    run_id: str = ""
    parent_run_id: str | None = None
    agent: str | None = None
    seq: int = 0
    time: float = 0.0

    @property
    def type(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **dataclasses.asdict(self)}


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """An agent's run began."""


@dataclass(frozen=True, kw_only=True)
class TextDelta(Event):
    """`text` was added to the message `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ReasoningDelta(Event):
    """Thinking was added to the message `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class MessageReplaced(Event):
    """A message is no longer what its deltas said; `message` is its whole new form (None: it is gone)."""

    message_id: str
    message: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class ToolCallDelta(Event):
    """A model is writing a tool call: `arguments` was added to what it has written of the arguments.

    The text is the model's own, before any repair: JSON, or the markup of its dialect. The call itself follows as
    a message, with the same id, when it is whole; one that breaks off, or turns out to be none, does not follow.

    Args:
        offset: Characters of the arguments before this piece; at 0 the call begins (anew, after a broken stream).
    """

    call_id: str
    name: str
    arguments: str
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool is about to run."""

    call_id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolProgress(Event):
    """A running tool says how far it is; `data` is whatever the tool yields, JSON-able."""

    call_id: str
    name: str
    data: Any = None


@dataclass(frozen=True, kw_only=True)
class ToolCallFinished(Event):
    """A tool call ended.

    Args:
        outcome: `ok`, `bad_arguments`, `unknown_tool`, `failed`, `timed_out`, `denied` or `cancelled`.
        result: What the model gets.
        error: The failure in full, with traceback, None when it went well. Never shown to the model.
        seconds: How long it took.
        value: The very object that the tool returned, for the program; not in `to_dict`.
    """

    call_id: str
    name: str
    outcome: str = OK
    result: Any = None
    error: str | None = None
    seconds: float = 0.0
    value: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **{name: value for name, value in vars(self).items() if name != "value"}}


@dataclass(frozen=True, kw_only=True)
class MemoryRetrieved(Event):
    """Passages were found for a question. `passages` are dicts with source, page, text and score."""

    query: str
    passages: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class HandoffMade(Event):
    """An agent passed the conversation on."""

    source: str
    target: str
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class SpeakerSelected(Event):
    """A team chose who speaks next, and why."""

    speaker: str | None
    candidates: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ApprovalRequested(Event):
    """A tool call waits for a decision."""

    call_id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelRetried(Event):
    """A model call failed and is tried again after `wait` seconds."""

    model: str
    attempt: int
    reason: str
    wait: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ModelSwitched(Event):
    """A fallback model takes over for this request."""

    source: str
    target: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class HistoryCompacted(Event):
    """The history sent to the model was made shorter."""

    policy: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, kw_only=True)
class UsageReported(Event):
    """A model call ended; `usage` has the counts of `limits.Usage`, `finish_reason`, and `latency` and
    `time_to_first_token` in seconds."""

    model: str
    usage: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WarningRaised(Event):
    """Something was survived that the user may want to know."""

    message: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunEnded(Event):
    """An agent's run ended.

    Args:
        reason: `answered`, `limit:<which>`, `cancelled`, `handoff`, `tool_ended`, `paused` or `error`.
        error: Text of the error that ended it, None otherwise.
    """

    reason: str
    error: str | None = None
