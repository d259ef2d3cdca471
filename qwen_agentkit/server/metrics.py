"""Counts and times of a server, in the text form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from qwen_agentkit.server.run import ServerRun

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """What is counted. Each server has counts of its own.

    Args:
        running: Gives the number of runs that have a thread.
        waiting: Gives the number of runs that wait for one.
        sessions: Gives the number of sessions in memory.
    """

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(
        self, running: Callable[[], float], waiting: Callable[[], float], sessions: Callable[[], float]
    ) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "qwen_agentkit_http_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self._runs = Counter("qwen_agentkit_runs", "Runs that ended.", ["agent", "status"], registry=registry)
        self._tokens = Counter(
            "qwen_agentkit_tokens", "Tokens that models counted.", ["agent", "kind"], registry=registry
        )
        self._first_text = Histogram(
            "qwen_agentkit_first_text_seconds",
            "From the request to the first text.",
            ["agent"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._seconds = Histogram(
            "qwen_agentkit_run_seconds", "From the request to the end.", ["agent"], buckets=_SECONDS, registry=registry
        )
        for name, text, value in (
            ("qwen_agentkit_runs_running", "Runs that have a thread.", running),
            ("qwen_agentkit_runs_waiting", "Runs that wait for a place.", waiting),
            ("qwen_agentkit_sessions_in_memory", "Sessions in memory.", sessions),
        ):
            Gauge(name, text, registry=registry).set_function(value)

    def count_run(self, run: ServerRun) -> None:
        """Counts a run that has ended."""
        agent = run.order.agent_id
        self._runs.labels(agent, run.status).inc()
        self._tokens.labels(agent, "prompt").inc(run.usage.prompt_tokens)
        self._tokens.labels(agent, "completion").inc(run.usage.completion_tokens)
        if run.first_text_at is not None:
            self._first_text.labels(agent).observe(max(0.0, run.first_text_at - run.created_at))
        if run.ended_at is not None:
            self._seconds.labels(agent).observe(max(0.0, run.ended_at - run.created_at))

    def text(self) -> bytes:
        """All counts."""
        return generate_latest(self._registry)
