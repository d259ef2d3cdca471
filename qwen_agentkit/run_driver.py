"""Drives one run: steps a `_run` generator inside the run's context and turns its yields into snapshots.

Every `next` and `close` of the generator goes through one copied `contextvars` context, so interleaved runs of
one agent, and one run advanced from several threads, do not mix.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from qwen_agentkit.errors import RunCancelled, RunLimitExceeded
from qwen_agentkit.events import RunEnded, RunStarted
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import Message
from qwen_agentkit.snapshots import Snapshots

ANSWERED = "answered"
CANCELLED = "cancelled"
ERROR = "error"
LIMIT = "limit:"

_END: Any = object()


def drive(
    run: RunContext,
    start: Callable[[], Iterator[Any]],
    snapshots: Snapshots,
    close_history: Callable[[list[Message]], list[Message]],
    raise_on_limit: bool,
) -> Iterator[list[Any]]:
    """Yields the snapshots of one run.

    Args:
        run: The run.
        start: Makes the `_run` generator; called inside the run's context.
        snapshots: Takes the snapshots.
        close_history: Answers open calls in a response that was broken off.
        raise_on_limit: Whether a `RunLimitExceeded` that the agent did not handle is raised (with `.partial`)
            or ends the run.

    Yields:
        The whole response so far. The last one says in its last message's `extra["end"]` how the run ended.
    """
    context = run.enter()
    timer = _deadline(run)
    reason: str = ANSWERED
    error_text: str | None = None
    steps: Iterator[Any] | None = None
    try:
        run.emit(RunStarted)
        last: list[Any] = []
        try:
            steps = iter(context.run(start))
            while (yielded := context.run(next, steps, _END)) is not _END:
                last = context.run(snapshots.take, yielded)
                _pass_on(run, last)
                yield last
                if run.cancel.cancelled:
                    raise RunCancelled(run.cancel.reason or CANCELLED)
        except RunCancelled:
            if not run.cancel.cancelled:
                raise  # some other run's cancel, which this run's program let through
            reason = CANCELLED
            if (run.cancel.reason or "").startswith(LIMIT):
                reason = run.cancel.reason or reason
                if raise_on_limit:
                    which = reason.removeprefix(LIMIT)
                    raise RunLimitExceeded(which, f"The run reached its limit of {which}", snapshots.messages) from None
        except RunLimitExceeded as error:
            if raise_on_limit:
                error.partial = error.partial or snapshots.messages
                raise
            reason = LIMIT + error.which
        response = snapshots.messages
        if reason != ANSWERED:
            response = close_history(response)
        elif response:
            reason = (response[-1].extra or {}).get("end") or ANSWERED
        if response:
            closing = response[-1].model_copy(update={"extra": {**(response[-1].extra or {}), "end": reason}})
            last = context.run(snapshots.take, [*response[:-1], closing])
            _pass_on(run, last)
            yield last
    except GeneratorExit:
        reason = CANCELLED
        raise
    except BaseException as error:
        reason, error_text = ERROR, f"{type(error).__name__}: {error}"
        raise
    finally:
        if timer is not None:
            timer.cancel()
        # Whatever still works for this run in other threads has nobody left to work for.
        run.cancel.cancel("closed")
        if steps is not None and hasattr(steps, "close"):
            context.run(steps.close)
        run.emit(RunEnded, reason=reason, error=error_text)
        run.close()


def _pass_on(run: RunContext, messages: list[Any]) -> None:
    if run.sink is not None and run.parent is not None:
        run.parent.note_child_yield(run, messages)


def _deadline(run: RunContext) -> threading.Timer | None:
    """Cancels the run when its own limit of seconds is over, so that a blocked read ends too."""
    seconds = run.own_limits.seconds if run.own_limits is not None else None
    if seconds is None:
        return None
    timer = threading.Timer(seconds, run.cancel.cancel, args=(LIMIT + "seconds",))
    timer.daemon = True
    timer.start()
    return timer
