"""A run in the form of OpenAI's Chat Completions, whole or in chunks.

Tool calls of an agent are its own business, so none is offered to the client; what happens beside the text stands in
the field `qwen_agentkit` of chunks and answers, which other clients leave alone.

Source of the format: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.server.event_log import SNAPSHOT, Entry
from qwen_agentkit.server.run import CANCELLED, CREATED, DELTA, DONE, ERROR, STARTED, WAITING, ServerRun
from qwen_agentkit.server.sse import encode_data
from qwen_agentkit.utils.answer_text import REASONING, TEXT

CLOSING = b"data: [DONE]\n\n"

_FIELD = "qwen_agentkit"
_DELTAS = {TEXT: "content", REASONING: "reasoning_content"}
# Entries that say nothing to a client of this protocol.
_LEFT_OUT = frozenset(
    {CREATED, STARTED, SNAPSHOT, "run_started", "run_ended", "usage_reported", "model_retried", "model_switched"}
)


def whole_completion(run: ServerRun) -> tuple[int, dict[str, Any]]:
    """Status and body for a run that has ended."""
    if run.failure is not None:
        return run.failure.status, run.failure.to_dict()
    message: dict[str, Any] = {"role": "assistant", "content": run.answer, "refusal": None}
    thought = "\n\n".join(one.reasoning_content for one in run.response if one.reasoning_content)
    if thought:
        message["reasoning_content"] = thought
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(run)}
    return 200, {
        **_head(run, "chat.completion"),
        "choices": [choice],
        "usage": openai_usage(run.usage),
        _FIELD: ending(run),
    }


class Chunks:
    """Encodes the entries of a run as chunks.

    Args:
        run: The run.
        with_usage: Whether a chunk with the usage comes last.
    """

    def __init__(self, run: ServerRun, with_usage: bool) -> None:
        self._run = run
        self._with_usage = with_usage
        self._head = _head(run, "chat.completion.chunk")
        self._first = True

    def __call__(self, entry: Entry) -> bytes | None:
        if entry.type == DELTA:
            return self._chunk({_DELTAS[entry.data["kind"]]: entry.data["text"]})
        if entry.type == ERROR:
            return encode_data({"error": entry.data["error"]})
        if entry.type in (DONE, CANCELLED, WAITING):
            last = self._chunk({}, finish_reason(self._run), ending(self._run))
            if not self._with_usage:
                return last
            return last + encode_data({**self._head, "choices": [], "usage": openai_usage(self._run.usage)})
        if entry.type in _LEFT_OUT:
            return None
        return self._chunk({}, None, {"run_id": self._run.id, "event": {**entry.data, "type": entry.type}})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None, extra: dict[str, Any] | None = None) -> bytes:
        if self._first:
            self._first = False
            delta = {"role": "assistant", "content": "", **delta}
        chunk = {**self._head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}
        return encode_data({**chunk, _FIELD: extra} if extra else chunk)


def finish_reason(run: ServerRun) -> str:
    """Why the answer ended, in OpenAI's words."""
    extra = (run.response[-1].extra or {}) if run.response else {}
    return "length" if extra.get("truncated") or run.reason == "limit:tokens" else "stop"


def ending(run: ServerRun) -> dict[str, Any]:
    """What this project says about an answer besides its text."""
    extra = (run.response[-1].extra or {}) if run.response else {}
    facts = {
        "run_id": run.id,
        "session_id": run.order.session.session_id if run.order.session is not None else None,
        "end": run.reason or run.status,
        "citations": extra.get("citations") or [],
    }
    if run.reason is None and run.approvals:
        facts["approvals"] = list(run.approvals.values())
    return facts


def openai_usage(usage: Usage) -> dict[str, Any]:
    """Counts of tokens in OpenAI's form."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _head(run: ServerRun, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{run.id.removeprefix('run_')}",
        "object": kind,
        "created": int(run.created_at),
        "model": run.order.agent_id,
    }
