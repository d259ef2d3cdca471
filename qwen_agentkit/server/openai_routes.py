"""`/v1/models` and `/v1/chat/completions`: agents for every program that speaks OpenAI's protocol."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from qwen_agentkit.server.bodies import CompletionBody
from qwen_agentkit.server.completions import CLOSING, Chunks, whole_completion
from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.requests import IdempotencyKey, TheService, User
from qwen_agentkit.server.run import ANSWER, WAITING
from qwen_agentkit.server.service import Service
from qwen_agentkit.server.sse import EventStream, WhenEnded

router = APIRouter(prefix="/v1", tags=["OpenAI"])


@router.get("/models")
def list_models(service: TheService, user: User) -> dict[str, Any]:
    """The agents, as models."""
    return {"object": "list", "data": [_model(service, name) for name in service.agents]}


@router.get("/models/{model:path}")
def get_model(model: str, service: TheService, user: User) -> dict[str, Any]:
    """One agent, as a model."""
    return _model(service, service.agent_id(model))


def _model(service: Service, name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "qwen_agentkit",
        "description": service.agents[name].description or "",
    }


@router.post("/chat/completions", response_model=None)
def complete(body: CompletionBody, service: TheService, user: User, idempotency_key: IdempotencyKey = None) -> Response:
    """Answers a conversation, whole or as a stream of chunks."""
    if body.n not in (None, 1):
        raise RequestFailed(400, "n is 1 here: an agent gives one answer", "unsupported_value", "n")
    if body.tools:
        raise RequestFailed(
            400, "Tools belong to the agent and are run by the server; send none", "unsupported_value", "tools"
        )
    agent_id = service.agent_id(body.model)
    run = service.keys.run_for(
        user,
        idempotency_key,
        ["completions", body.model_dump()],
        lambda: service.begin(
            user,
            agent_id,
            body.messages,
            body.session_id,
            style=ANSWER,
            arguments={"seed": body.seed, "output_type": _output_type(body.response_format)},
        ),
    )
    if not body.stream:
        return WhenEnded(run, whole_completion, service.left, {WAITING})
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    return EventStream(
        run,
        Chunks(run, with_usage),
        keep_alive_seconds=service.options.keep_alive_seconds,
        left=service.left,
        stops_at={WAITING},
        closing=CLOSING,
        refuses=True,
    )


def _output_type(response_format: dict[str, Any] | None) -> dict[str, Any] | None:
    kind = (response_format or {}).get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    held = (response_format or {}).get("json_schema")
    schema = held.get("schema") if isinstance(held, dict) else None
    if kind != "json_schema" or not isinstance(schema, dict):
        raise RequestFailed(
            400,
            "response_format is {'type': 'text'}, {'type': 'json_object'} or {'type': 'json_schema', "
            "'json_schema': {'schema': {...}}}",
            "invalid_response_format",
            "response_format",
        )
    return {"type": "object", **schema}
