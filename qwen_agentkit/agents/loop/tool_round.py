"""Running the tool calls of one reply: at once, in bounded time, results in call order."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from qwen_agentkit import events, settings
from qwen_agentkit.errors import DocParserError, RunCancelled, RunLimitExceeded, ToolServiceError
from qwen_agentkit.events import ToolCallFinished
from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.schema import FUNCTION, ContentItem, Message
from qwen_agentkit.tool_ledger import tool_ledger
from qwen_agentkit.tools.execution import current_call_id, one_line
from qwen_agentkit.utils.daemon_pool import DaemonPool, PoolFuture


def with_note(content: str | list[ContentItem] | None, text: str) -> str | list[ContentItem]:
    """A result with a remark of the framework behind it."""
    if isinstance(content, list):
        return [*content, ContentItem(text=f"\n\n{text}")]
    return f"{content}\n\n{text}" if content else text


@dataclass
class ToolCall:
    """One call of a reply.

    Args:
        call_id: Its id in the history.
        name: The tool.
        arguments: JSON text.
        outcome: How it ended, one of the outcomes in `events`; None while open.
        content: What the model gets; None while open.
        result: What the tool gave, before notes were added to it for the model.
        risky: The tool changes something outside, and text of other people (documents, pages, results of tools) is in
            the context, which may have asked for it; known when it is decided about the call.
    """

    call_id: str
    name: str
    arguments: str
    outcome: str | None = None
    content: str | list[ContentItem] | None = None
    result: str | list[ContentItem] | None = None
    risky: bool = False
    _future: PoolFuture | None = field(default=None, repr=False)
    _deadline: float = field(default=math.inf, repr=False)
    _seconds: float = field(default=0.0, repr=False)

    def close(self, outcome: str, content: str | list[ContentItem]) -> None:
        self.outcome, self.content, self.result = outcome, content, content

    def add_note(self, text: str) -> None:
        """Puts a remark of the framework behind the result."""
        self.content = with_note(self.content, text)

    def give_up(self, run: RunContext | None, outcome: str, text: str) -> None:
        """Closes the call from outside; whatever its thread still brings is dropped."""
        self.close(outcome, text)
        if self._future is not None:
            self._future.abandon()
        if run is None:
            return
        ledger = tool_ledger(run)
        ledger.start(self.call_id, self.name, self.arguments)
        if ledger.finish(self.call_id, outcome):
            run.emit(ToolCallFinished, call_id=self.call_id, name=self.name, outcome=outcome, result=text, error=text)

    @property
    def message(self) -> Message:
        """The result as a message."""
        return Message(FUNCTION, self.content or "", name=self.name, extra={"function_id": self.call_id})


@cache
def tool_pool() -> DaemonPool:
    """The process's pool for tool calls."""
    return DaemonPool(settings.MAX_TOOL_THREADS, name="qwen-agentkit-tool")


def run_calls(
    calls: Sequence[ToolCall],
    tools: dict[str, Any],
    execute: Callable[[ToolCall], str | list[ContentItem]],
) -> Iterator[None]:
    """Runs calls until each is closed; yields whenever another of the leading ones is.

    Calls run at once, but a tool marked `sequential` runs with no other beside it. Calls that are closed
    already (denied, say) are left as they are.

    Args:
        calls: The calls of one reply, in order. Their `outcome` and `content` are filled in.
        tools: The agent's tools by name, for `sequential` and `timeout`.
        execute: Does one call, in a thread of the pool; what it returns is for the model.

    Raises:
        RunCancelled: The run was cancelled; calls that had not ended are closed as cancelled first.
        Exception: What `execute` raised beside the errors that are meant for the model.
    """
    run = current_run()
    done = 0
    try:
        for batch in _batches(calls, tools):
            for _ in _run_batch(batch, tools, execute, run):
                closed = _leading(calls)
                if closed > done:
                    done = closed
                    yield
    except RunCancelled as error:
        for call in calls:
            if call.outcome is None:
                call.give_up(run, events.CANCELLED, f"Tool {call.name} was not completed: {error}.")
        raise


def _leading(calls: Sequence[ToolCall]) -> int:
    for index, call in enumerate(calls):
        if call.outcome is None:
            return index
    return len(calls)


def _batches(calls: Sequence[ToolCall], tools: dict[str, Any]) -> Iterator[list[ToolCall]]:
    batch: list[ToolCall] = []
    for call in calls:
        if call.outcome is not None:
            continue
        if getattr(tools.get(call.name), "sequential", False):
            if batch:
                yield batch
            yield [call]
            batch = []
        else:
            batch.append(call)
    if batch:
        yield batch


def _run_batch(
    batch: list[ToolCall],
    tools: dict[str, Any],
    execute: Callable[[ToolCall], str | list[ContentItem]],
    run: RunContext | None,
) -> Iterator[None]:
    changed = threading.Event()
    unlink = run.cancel.on_cancel(changed.set) if run is not None else lambda: None
    try:
        for call in batch:
            call._seconds = timeout_of(tools.get(call.name))
            call._deadline = time.monotonic() + call._seconds
            call._future = tool_pool().submit(_execute, execute, call)
            call._future.add_done_callback(lambda _: changed.set())
        while open_calls := [call for call in batch if call.outcome is None]:
            changed.wait(max(0.0, min(min(call._deadline for call in open_calls) - time.monotonic(), 3600.0)))
            changed.clear()
            for call in open_calls:
                if call._future is not None and call._future.done():
                    _collect(call, call._future, run)
                elif run is not None and run.cancel.cancelled:
                    raise RunCancelled(run.cancel.reason or "cancelled")
                elif time.monotonic() >= call._deadline:
                    text = f"Tool {call.name} timed out after {call._seconds:g} s. It may still be running."
                    call.give_up(run, events.TIMED_OUT, text)
            yield
    finally:
        unlink()
        for call in batch:
            if call._future is not None and not call._future.done():
                call._future.abandon()


def _execute(execute: Callable[[ToolCall], Any], call: ToolCall) -> Any:
    current_call_id.set(call.call_id)
    return execute(call)


def _collect(call: ToolCall, future: PoolFuture, run: RunContext | None) -> None:
    try:
        content = future.result()
    except (ToolServiceError, DocParserError) as error:
        call.close(events.FAILED, f"Tool {call.name} failed: {one_line(error)}")
    except RunLimitExceeded as error:
        call.give_up(run, events.DENIED, f"Tool {call.name} was not run: {error}.")
    else:
        told = tool_ledger(run).outcome(call.call_id) if run is not None else None
        call.close(told or events.OK, content)


def timeout_of(tool: Any) -> float:
    """Seconds that one call of the tool may take."""
    own = getattr(tool, "timeout", None)
    return float(settings.DEFAULT_TOOL_TIMEOUT if own is None else own)
