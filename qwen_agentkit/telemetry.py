"""OpenTelemetry spans for runs, tool calls and model calls (extra `otel`).

    from qwen_agentkit.telemetry import trace_runs
    stop = trace_runs()

Names and attributes follow the semantic conventions for generative AI
(https://opentelemetry.io/docs/specs/semconv/gen-ai/). What is said stays out of the spans unless `content=True`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from qwen_agentkit import run_context
from qwen_agentkit.events import (
    OK,
    Event,
    RunEnded,
    RunStarted,
    ToolCallFinished,
    ToolCallStarted,
    UsageReported,
)
from qwen_agentkit.utils.optional import need

_NANOSECONDS = 1_000_000_000


def trace_runs(tracer: Any = None, content: bool = False) -> Callable[[], None]:
    """Makes spans of every run that starts from now on in this process.

    Args:
        tracer: An OpenTelemetry tracer; None takes one from the global provider.
        content: Whether tool arguments and results are put into the spans.

    Returns:
        A function that stops it.

    Raises:
        MissingDependencyError: opentelemetry-api is not installed.
    """
    trace = need("opentelemetry.trace", extra="otel")
    observer = _Spans(trace, tracer or trace.get_tracer("qwen_agentkit"), content)
    run_context.observers.append(observer)

    def stop() -> None:
        if observer in run_context.observers:
            run_context.observers.remove(observer)

    return stop


class _Spans:
    """Opens and ends spans as events come. Spans carry the events' own times."""

    def __init__(self, trace: Any, tracer: Any, content: bool) -> None:
        self._trace = trace
        self._tracer = tracer
        self._content = content
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], Any] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                name = f"invoke_agent {event.agent}" if event.agent else "invoke_agent"
                attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": event.run_id}
                if event.agent:
                    attributes["gen_ai.agent.name"] = event.agent
                self._start((event.run_id, ""), name, attributes, event, parent=event.parent_run_id)
            case RunEnded(reason=reason, error=error):
                self._end((event.run_id, ""), event, {"qwen_agentkit.end": reason}, error)
            case ToolCallStarted(call_id=call_id, name=tool, arguments=arguments):
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.id": call_id,
                }
                if self._content:
                    attributes["gen_ai.tool.call.arguments"] = arguments
                self._start((event.run_id, call_id), f"execute_tool {tool}", attributes, event, parent=event.run_id)
            case ToolCallFinished(call_id=call_id, outcome=outcome, result=result):
                attributes = {} if outcome == OK else {"error.type": outcome}
                if self._content:
                    attributes["gen_ai.tool.call.result"] = _text(result)
                self._end((event.run_id, call_id), event, attributes, None if outcome == OK else outcome)
            case UsageReported(model=model, usage=usage):
                self._model_call(event, model, usage)

    def _model_call(self, event: Event, model: str, usage: dict[str, Any]) -> None:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": usage.get("prompt_tokens", 0),
            "gen_ai.usage.output_tokens": usage.get("completion_tokens", 0),
        }
        if usage.get("finish_reason"):
            attributes["gen_ai.response.finish_reasons"] = [usage["finish_reason"]]
        span = self._tracer.start_span(
            f"chat {model}",
            context=self._context(event.run_id),
            kind=self._trace.SpanKind.CLIENT,
            attributes=attributes,
            start_time=_time(event, -usage.get("latency", 0.0)),
        )
        span.end(_time(event))

    def _start(
        self, key: tuple[str, str], name: str, attributes: dict[str, Any], event: Event, parent: str | None
    ) -> None:
        span = self._tracer.start_span(
            name, context=self._context(parent), attributes=attributes, start_time=_time(event)
        )
        with self._lock:
            self._open[key] = span

    def _end(self, key: tuple[str, str], event: Event, attributes: dict[str, Any], error: str | None) -> None:
        with self._lock:
            span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attributes(attributes)
        if error is not None:
            span.set_status(self._trace.StatusCode.ERROR, error)
        span.end(_time(event))

    def _context(self, run_id: str | None) -> Any:
        """The context of a run's span; None, which is the caller's own, for the outermost run."""
        with self._lock:
            span = self._open.get((run_id or "", ""))
        return None if span is None else self._trace.set_span_in_context(span)


def _time(event: Event, seconds: float = 0.0) -> int:
    return int((event.time + seconds) * _NANOSECONDS)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
