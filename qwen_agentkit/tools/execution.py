"""Running one tool call: outcome, events, retries, async and streaming tools.

Failures are a closed set (`qwen_agentkit.events`): bad arguments, unknown tool, failed, timed out, denied,
cancelled. The model gets one line; the traceback goes to the log and the event.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import difflib
import inspect
import time
import traceback
from collections.abc import Mapping
from typing import Any

from qwen_agentkit import events
from qwen_agentkit.errors import (
    DocParserError,
    RunCancelled,
    RunLimitExceeded,
    ToolArgumentsError,
    ToolServiceError,
)
from qwen_agentkit.events import ToolCallFinished, ToolCallStarted, ToolProgress
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tool_ledger import tool_ledger
from qwen_agentkit.tools.results import to_content
from qwen_agentkit.utils.background_loop import background_loop
from qwen_agentkit.utils.signatures import declared

# The id of the call that this thread works on; the loop sets it before `Agent._call_tool`, whose signature,
# which programs override, has no place for it.
current_call_id: contextvars.ContextVar[str | None] = contextvars.ContextVar("qwen_agentkit_call_id", default=None)

MAX_ERROR_CHARACTERS = 500


def call_tool(
    tools: Mapping[str, Any], name: str, arguments: str | dict, kwargs: Mapping[str, Any]
) -> str | list[ContentItem]:
    """Runs the tool of that name and returns what the model gets.

    Args:
        tools: The agent's tools by name.
        name: Name of the tool.
        arguments: JSON text or a dict.
        kwargs: Passed to the tool's `call`.

    Raises:
        ToolServiceError, DocParserError: As raised by the tool.
        RunLimitExceeded, RunCancelled: The run may make no further call.
    """
    run = current_run()
    if run is not None:
        run.reserve_tool_call()
    call = _Call(run, name, arguments)
    tool = tools.get(name)
    if tool is None:
        return call.finish(events.UNKNOWN_TOOL, unknown_tool(name, tools))
    attempts = 1 + max(0, getattr(tool, "retries", 0))
    for attempt in range(1, attempts + 1):
        try:
            result = call.complete(tool.call(arguments, **declared(type(tool).call, kwargs)))
            content = to_content(result, tool, run.lang if run is not None else "en")
            return call.finish(events.OK, content, value=result)
        except (RunCancelled, RunLimitExceeded) as error:
            call.finish(events.CANCELLED, one_line(error))
            raise
        except ToolArgumentsError as error:
            return call.finish(events.BAD_ARGUMENTS, str(error), error)
        except Exception as error:
            if attempt < attempts:
                logger.info("Tool %s failed and is tried again (%s)", name, one_line(error))
                continue
            text = f"An error occurred when calling tool `{name}`: {one_line(error)}"
            call.finish(events.FAILED, text, error)
            if isinstance(error, (ToolServiceError, DocParserError)):
                raise
            return text
    raise AssertionError("unreachable: the last attempt returns or raises")


class _Call:
    """One call on its way: tells of its start, progress and end exactly once."""

    def __init__(self, run: RunContext | None, name: str, arguments: str | dict) -> None:
        self.run = run
        self.name = name
        self.started = time.monotonic()
        self.call_id = current_call_id.get() or ""
        if run is not None:
            text = arguments if isinstance(arguments, str) else repr(arguments)
            self.call_id, untold = tool_ledger(run).start(current_call_id.get(), name, text)
            if untold:
                run.emit(ToolCallStarted, call_id=self.call_id, name=name, arguments=text)

    def complete(self, result: Any) -> Any:
        """Drives a coroutine or generator that a tool returned to its final value."""
        if inspect.isasyncgen(result):
            return self._on_loop(self._drain_async(result))
        if inspect.isawaitable(result):
            return self._on_loop(result)
        if inspect.isgenerator(result):
            return self._drain(result)
        return result

    def _drain(self, steps: Any) -> Any:
        last = None
        try:
            while True:
                last = next(steps)
                self._progress(last)
        except StopIteration as end:
            return last if end.value is None else end.value
        finally:
            steps.close()

    async def _drain_async(self, steps: Any) -> Any:
        last = None
        async for last in steps:
            self._progress(last)
        return last

    def _progress(self, data: Any) -> None:
        if self.run is not None:
            self.run.cancel.raise_if_cancelled()
            self.run.emit(ToolProgress, call_id=self.call_id, name=self.name, data=data)

    def _on_loop(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        loop = self.run.loop if self.run is not None and self.run.loop is not None else background_loop()
        future = asyncio.run_coroutine_threadsafe(wait(), loop)
        if self.run is None:
            return future.result()
        forget = self.run.cancel.on_cancel(future.cancel)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            self.run.cancel.raise_if_cancelled()
            raise
        finally:
            forget()

    def finish(
        self, outcome: str, content: str | list[ContentItem], error: BaseException | None = None, value: Any = None
    ) -> str | list[ContentItem]:
        detail = None if error is None else "".join(traceback.format_exception(error))
        if outcome == events.FAILED:
            logger.warning("Tool %s failed\n%s", self.name, detail)
        elif outcome != events.OK:
            # The model's own mistake, or a decision: nothing in the program to look for.
            logger.info("Tool %s: %s (%s)", self.name, outcome, content)
        if self.run is not None and tool_ledger(self.run).finish(self.call_id, outcome):
            shown = content if isinstance(content, str) else [item.model_dump() for item in content]
            self.run.emit(
                ToolCallFinished,
                call_id=self.call_id,
                name=self.name,
                outcome=outcome,
                result=shown,
                error=detail,
                seconds=time.monotonic() - self.started,
                value=value,
            )
        return content


def unknown_tool(name: str, tools: Mapping[str, Any]) -> str:
    """What the model is told when it calls a tool that is not there: the near names, else all."""
    near = difflib.get_close_matches(name, list(tools), n=3, cutoff=0.6)
    text = f"Tool {name} does not exists."
    if near:
        return f"{text} Did you mean {' or '.join(near)}?"
    return f"{text} Available tools: {', '.join(tools) or 'none'}."


def one_line(error: BaseException) -> str:
    """Type and message of an error in one line of at most 500 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[:MAX_ERROR_CHARACTERS] + "…"
