"""`/chat`, `/chat/stream`, `/reset`: a conversation in the plainest form."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from qwen_agentkit.server.bodies import ChatBody, ResetBody
from qwen_agentkit.server.completions import ending, openai_usage
from qwen_agentkit.server.event_log import Entry
from qwen_agentkit.server.requests import IdempotencyKey, TheService, User
from qwen_agentkit.server.run import ANSWER, DELTA, DONE, ENDED, WAITING, ServerRun
from qwen_agentkit.server.service import Service
from qwen_agentkit.server.sse import EventStream, WhenEnded, encode_event
from qwen_agentkit.utils.answer_text import TEXT

router = APIRouter(tags=["Chat"])

# Names of the events of growing text.
_DELTA_NAMES = {TEXT: "delta"}


def _run(body: ChatBody, kind: str, service: Service, user: str, key: str | None) -> ServerRun:
    agent_id = service.agent_id(body.agent, "agent")
    message = {"role": "user", "content": body.message}
    return service.keys.run_for(
        user,
        key,
        [kind, body.model_dump()],
        lambda: service.begin(user, agent_id, [message], body.session_id, new_session=True, style=ANSWER),
    )


@router.post("/chat", response_model=None)
def chat(body: ChatBody, service: TheService, user: User, idempotency_key: IdempotencyKey = None) -> Response:
    """Says something in a session and answers when the agent has answered."""
    run = _run(body, "chat", service, user, idempotency_key)
    return WhenEnded(run, chat_answer, service.left, {WAITING})


def chat_answer(run: ServerRun) -> tuple[int, dict[str, Any]]:
    """Status and body of an answer."""
    if run.failure is not None:
        return run.failure.status, run.failure.to_dict()
    return 200, {**ending(run), "answer": run.answer, "usage": openai_usage(run.usage)}


@router.post("/chat/stream", response_model=None)
def stream_chat(body: ChatBody, service: TheService, user: User, idempotency_key: IdempotencyKey = None) -> Response:
    """Says something in a session and streams the answer.

    Events: `run_created` (with session_id), `delta` and `reasoning` (with text), those of tools, and at the end one
    of `done`, `error`, `cancelled`.
    """
    run = _run(body, "stream", service, user, idempotency_key)
    return EventStream(
        run,
        lambda entry: _chat_event(entry, run),
        keep_alive_seconds=service.options.keep_alive_seconds,
        left=service.left,
        stops_at={WAITING},
    )


def _chat_event(entry: Entry, run: ServerRun) -> bytes:
    if entry.type == DELTA:
        name = _DELTA_NAMES.get(entry.data["kind"], entry.data["kind"])
        return encode_event(Entry(entry.number, name, {"text": entry.data["text"]}))
    if entry.type == WAITING:
        return encode_event(Entry(entry.number, DONE, chat_answer(run)[1]))
    if entry.type in ENDED:
        return encode_event(Entry(entry.number, entry.type, chat_answer(run)[1]))
    return encode_event(entry)


@router.post("/reset")
def reset(body: ResetBody, service: TheService, user: User) -> dict[str, Any]:
    """Forgets a session, its history and files; its id begins anew."""
    service.delete_session(user, body.session_id)
    return {"session_id": body.session_id, "reset": True}
