"""What one run carries through every layer: id, cancel token, limits, usage, event sink, state.

The context lives in a `contextvars` variable. `Agent.run` enters it for each step of the run, the tool pool
enters a copy for each tool, so `current_run()` answers rightly anywhere inside, in any thread of the run.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
import time
import uuid
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.events import Event, UsageReported, WarningRaised
from qwen_agentkit.limits import LimitLedger, RunLimits, Usage
from qwen_agentkit.log import logger

_current: contextvars.ContextVar[RunContext | None] = contextvars.ContextVar("qwen_agentkit_run", default=None)


@dataclass(frozen=True)
class Reader:
    """What a reader of a run asks for: where events go, and which loop async tools run on."""

    sink: Callable[[Event], None] | None = None
    loop: AbstractEventLoop | None = None


# Set around a call of `Agent.run` by `arun` and `run_events`; taken by the outermost run that starts inside.
reader: contextvars.ContextVar[Reader | None] = contextvars.ContextVar("qwen_agentkit_reader", default=None)


# Called with every event of every run in this process; `qwen_agentkit.telemetry` listens here.
observers: list[Callable[[Event], None]] = []


def _told_to_all(sink: Callable[[Event], None] | None) -> Callable[[Event], None] | None:
    """The sink, and the observers in front of it. None, so that events cost nothing, when nobody listens."""
    listening = list(observers)
    if not listening:
        return sink

    def tell(event: Event) -> None:
        for observer in listening:
            try:
                observer(event)
            except Exception:
                logger.exception("An observer of events failed")
        if sink is not None:
            sink(event)

    return tell


def current_run() -> RunContext | None:
    """The run that this code works for, None outside of any."""
    return _current.get()


class RunContext:
    """One run of one agent.

    Args:
        agent: Name of the agent.
        parent: The run that starts this one; limits, state, sink and loop are shared with it.
        cancel: A token from outside. The run has a token of its own that follows it and the parent's.
        limits: Bounds for this run and all it starts.
        sink: Called with each event, in the thread where it happens.
        loop: The asyncio loop of the caller, where async tools run.
        lang: Language of the run's prompts, `zh` or `en`.

    Attributes:
        run_id: A fresh id.
        cancel: The run's own `CancelToken`.
        ledger: Counts against the limits.
        usage: What this run and all it started have used.
        as_dicts: Whether the run's reader gets dicts.
        output_type: The type or JSON schema that the answer must have, None for any.
        session_key: (user id, session id) of the stored session that the run tree works in, None outside of any.
        state: A dict shared by the whole run tree; keys are `module.name` of who owns the value.
    """

    def __init__(
        self,
        agent: str | None = None,
        parent: RunContext | None = None,
        cancel: CancelToken | None = None,
        limits: RunLimits | None = None,
        sink: Callable[[Event], None] | None = None,
        loop: AbstractEventLoop | None = None,
        lang: str = "en",
    ) -> None:
        self.run_id = f"run_{uuid.uuid4().hex[:12]}"
        self.agent = agent
        self.parent = parent
        self.own_limits = limits
        self.cancel: CancelToken = CancelToken()
        # Tokens that this run's own follows from its first step on: a run that is never begun leaves no trace there.
        self._followed = [token for token in (cancel, parent.cancel if parent else None) if token is not None]
        self._unlink: list[Callable[[], None]] = []
        if parent is None:
            self.ledger = LimitLedger(limits)
        else:
            self.ledger = LimitLedger(limits, parent.ledger) if limits is not None else parent.ledger
        self.usage = Usage()
        self._lock = threading.Lock()
        self.state: dict[str, Any] = parent.state if parent else {}
        self.sink: Callable[[Event], None] | None = (
            parent.sink if parent is not None and sink is None else _told_to_all(sink)
        )
        self.loop: AbstractEventLoop | None = loop if loop is not None else (parent.loop if parent else None)
        self.lang = lang
        self.as_dicts = False
        self.output_type: Any = None
        self.session_key: tuple[str, str] | None = parent.session_key if parent else None
        self._seq: Iterator[int] = parent._seq if parent else itertools.count(1)
        self._own: dict[str, Any] = {}
        # child run id -> what it yielded last; see `announced`
        self._child_yields: dict[str, list[Any]] = {}

    def _follow(self, token: CancelToken) -> None:
        self.cancel.cancel(token.reason or "cancelled")

    @property
    def limits(self) -> RunLimits:
        return self.ledger.limits

    @property
    def root(self) -> RunContext:
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    def emit(self, event_class: type[Event], **fields: Any) -> None:
        """Hands an event of this run to whoever listens; costs nothing when nobody does."""
        if self.sink is None:
            return
        self.sink(
            event_class(
                run_id=self.run_id,
                parent_run_id=self.parent.run_id if self.parent else None,
                agent=self.agent,
                seq=next(self._seq),
                time=time.time(),
                **fields,
            )
        )

    def warn(self, message: str, **details: Any) -> None:
        """Logs something that was survived, and tells the listeners."""
        logger.warning(message)
        self.emit(WarningRaised, message=message, details=details)

    def own(self, key: str, make: Callable[[], Any]) -> Any:
        """A value of this run alone (not of the tree), made by `make()` at first use."""
        with self._lock:
            if key not in self._own:
                self._own[key] = make()
            return self._own[key]

    def note_child_yield(self, child: RunContext, messages: list[Any]) -> None:
        """Remembers what a sub-agent's run yielded last, whose events were emitted under its own name."""
        self._child_yields[child.run_id] = messages

    def announced(self, message: Any) -> bool:
        """Whether this very message came from a sub-agent, so that its growth is not told of twice."""
        return any(message is other for messages in self._child_yields.values() for other in messages)

    def reserve_model_call(self) -> None:
        """To be called before each request to a model.

        Raises:
            RunCancelled: The run was cancelled.
            RunLimitExceeded: A limit of the run is reached.
        """
        self.cancel.raise_if_cancelled()
        self.ledger.reserve("model_calls")
        self._count(Usage(model_calls=1))

    def reserve_tool_call(self) -> None:
        """To be called before each tool call; raises as `reserve_model_call`."""
        self.cancel.raise_if_cancelled()
        self.ledger.reserve("tool_calls")
        self._count(Usage(tool_calls=1))

    def record_usage(self, model: str, usage: Usage, details: dict[str, Any] | None = None) -> None:
        """Adds what one finished model call used, and reports it as an event.

        Args:
            model: Name of the model.
            usage: What it used.
            details: What the event tells in place of the bare counts (times and the finish reason beside them).
        """
        self.ledger.record(usage)
        self._count(
            Usage(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.cost)
        )
        self.emit(UsageReported, model=model, usage=details or usage.to_dict())

    def _count(self, usage: Usage) -> None:
        run: RunContext | None = self
        while run is not None:
            with run._lock:
                run.usage.add(usage)
            run = run.parent

    def enter(self) -> contextvars.Context:
        """Begins: returns a copy of the current context in which this run is the current one, for `context.run`."""
        for token in self._followed:
            self._unlink.append(token.on_cancel(partial(self._follow, token)))
        context = contextvars.copy_context()
        context.run(_current.set, self)
        context.run(reader.set, None)
        return context

    def close(self) -> None:
        """Takes the run off the tokens it follows."""
        for unlink in self._unlink:
            unlink()

    def __deepcopy__(self, memo: dict[int, object]) -> RunContext:
        # Like its token, a run is an identity; it may be reached from kwargs that a program deepcopies.
        return self
