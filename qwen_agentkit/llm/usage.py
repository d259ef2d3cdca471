"""What one answer used: read from the service's own words, priced, timed, written on the answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.llm.length import count_input_tokens, count_message_tokens
from qwen_agentkit.llm.request import ModelRequest
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message


def usage_of(counts: Mapping[str, Any] | None) -> Usage | None:
    """Token counts in the words of OpenAI, DashScope and their like; None when there are none."""
    if not isinstance(counts, Mapping):
        return None
    prompt = _number(counts, "prompt_tokens", "input_tokens")
    completion = _number(counts, "completion_tokens", "output_tokens")
    if prompt is None and completion is None:
        return None
    prompt_details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details") or {}
    output_details = counts.get("completion_tokens_details") or counts.get("output_tokens_details") or {}
    cached = _number(prompt_details, "cached_tokens")
    if cached is None:
        cached = _number(counts, "prompt_cache_hit_tokens", "cached_tokens")
    return Usage(
        prompt_tokens=prompt or 0,
        completion_tokens=completion or 0,
        cached_tokens=cached or 0,
        reasoning_tokens=_number(output_details, "reasoning_tokens") or 0,
    )


def _number(counts: Any, *names: str) -> int | None:
    if isinstance(counts, Mapping):
        for name in names:
            value = counts.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return int(value)
    return None


def cost_of(usage: Usage, price: Mapping[str, float] | None) -> float:
    """Money for `usage` at a price per million tokens (`input`, `cached`, `output`); cached tokens cost as input
    where no price for them is given."""
    if not price:
        return 0.0
    fresh = usage.prompt_tokens - usage.cached_tokens
    rate = float(price.get("input", 0.0))
    return (
        fresh * rate
        + usage.cached_tokens * float(price.get("cached", rate))
        + usage.completion_tokens * float(price.get("output", 0.0))
    ) / 1_000_000


class Clock:
    """Times one request: latency and time to the first piece of the answer."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: float | None = None

    def piece_came(self) -> None:
        if self._first is None:
            self._first = time.monotonic() - self._started

    def times(self) -> dict[str, float]:
        """Seconds to the end and to the first piece."""
        latency = time.monotonic() - self._started
        return {
            "latency": round(latency, 4),
            "time_to_first_token": round(self._first if self._first is not None else latency, 4),
        }


def estimated(request: ModelRequest, reply: list[Message]) -> Usage:
    """Token counts for a service that gives none."""
    return Usage(
        prompt_tokens=count_input_tokens(request.messages, request.functions),
        completion_tokens=sum(map(count_message_tokens, reply)),
    )


def record(
    model: str,
    usage: Usage | None,
    request: ModelRequest,
    reply: list[Message],
    finish_reason: str | None,
    clock: Clock,
) -> dict[str, Any]:
    """Adds one answer's use to the run.

    Returns:
        The JSON-able record for the answer's `extra["usage"]`.
    """
    counted = usage if usage is not None else estimated(request, reply)
    counted.cost = cost_of(counted, request.options.price)
    kept = {
        "model": model,
        "prompt_tokens": counted.prompt_tokens,
        "completion_tokens": counted.completion_tokens,
        "total_tokens": counted.total_tokens,
        "cached_tokens": counted.cached_tokens,
        "reasoning_tokens": counted.reasoning_tokens,
        "cost": counted.cost,
        "finish_reason": finish_reason,
        **clock.times(),
    }
    if usage is None:
        kept["estimated"] = True
    run = current_run()
    if run is not None:
        run.record_usage(model, counted, kept)
    return kept
