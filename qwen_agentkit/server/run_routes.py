"""`/v1/runs`: runs as streams of this project's events, in the background, resumed, decided about."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from qwen_agentkit.agents.loop.approval import Decision
from qwen_agentkit.server.bodies import ApprovalBody, FollowUpBody, RunBody
from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.requests import IdempotencyKey, LastEventId, TheService, User
from qwen_agentkit.server.run import EVENTS, PAUSED, WAITING, ServerRun
from qwen_agentkit.server.service import Service
from qwen_agentkit.server.sse import EventStream, WhenEnded, encode_event

router = APIRouter(prefix="/v1/runs", tags=["Runs"])


@router.post("", response_model=None)
def start_run(
    body: RunBody,
    service: TheService,
    user: User,
    last_event_id: LastEventId,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Begins a run: a stream of its events, its whole when it has ended, or, in the background, its id at once.

    The stream begins with `run_created` and ends with one of `done`, `error` and `cancelled`. A client that lost it
    goes on with GET /v1/runs/{id}/events, or with the same request, its Idempotency-Key and Last-Event-ID.
    """
    agent_id = service.agent_id(body.agent, "agent")
    run = service.keys.run_for(
        user,
        idempotency_key,
        ["runs", body.model_dump()],
        lambda: service.begin(
            user,
            agent_id,
            body.messages,
            body.session_id,
            style=EVENTS,
            background=body.background,
            limits=body.limits.model_dump(exclude_none=True) if body.limits is not None else None,
            arguments={"seed": body.seed, "lang": body.lang, "output_type": _schema(body.output_schema)},
        ),
    )
    if body.background:
        return JSONResponse(run.to_dict(), 202, {"Location": f"/v1/runs/{run.id}", "X-Run-Id": run.id})
    if not body.stream:
        return WhenEnded(run, whole_run, service.left, {WAITING})
    return _events(service, run, last_event_id or 0)


def _schema(given: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if given is None else {"type": "object", **given}


def whole_run(run: ServerRun) -> tuple[int, dict[str, Any]]:
    """Status and body for a run that has ended or paused."""
    return (200 if run.failure is None else run.failure.status), run.to_dict()


def _events(service: Service, run: ServerRun, after: int) -> EventStream:
    return EventStream(
        run, encode_event, after=after, keep_alive_seconds=service.options.keep_alive_seconds, left=service.left
    )


@router.get("")
def list_runs(service: TheService, user: User) -> dict[str, Any]:
    """The user's runs that are under way or kept, the newest first, without their messages."""
    left_out = ("messages", "answer")
    runs = [run.to_dict() for run in service.board.of_user(user)]
    return {
        "object": "list",
        "data": [{key: value for key, value in run.items() if key not in left_out} for run in runs],
    }


@router.get("/{run_id}")
def get_run(run_id: str, service: TheService, user: User) -> dict[str, Any]:
    """A run as it stands: status, messages so far, usage, calls that wait for a decision."""
    return service.run(user, run_id).to_dict()


@router.get("/{run_id}/events", response_model=None)
def stream_events(
    run_id: str,
    service: TheService,
    user: User,
    last_event_id: LastEventId,
    after: Annotated[int, Query(ge=0, le=10**12, description="In place of Last-Event-ID.")] = 0,
) -> Response:
    """The events of a run from the first, or from the one after Last-Event-ID, and on as they come.

    When those are no longer kept, an event `snapshot` with the run as it stands takes their place.
    """
    return _events(service, service.run(user, run_id), after if last_event_id is None else last_event_id)


@router.post("/{run_id}/cancel")
def cancel_run(run_id: str, service: TheService, user: User) -> dict[str, Any]:
    """Cancels a run; its stream ends with `cancelled`. What has ended stays as it is."""
    run = service.run(user, run_id)
    service.board.cancel(run)
    return run.to_dict()


@router.post("/{run_id}/approval")
def decide(run_id: str, body: ApprovalBody, service: TheService, user: User) -> dict[str, Any]:
    """Decides about the tool calls that a paused run waits for; it goes on, in the same stream."""
    run = service.run(user, run_id)
    if run.status != PAUSED:
        raise RequestFailed(409, f"The run waits for no decision; it is {run.status}", "run_not_paused")
    service.board.go_on(run, _decisions(body.decisions, run))
    return run.to_dict()


def _decisions(given: bool | dict[str, Any], run: ServerRun) -> bool | dict[str, Any]:
    if isinstance(given, bool):
        return given
    for call_id, decision in given.items():
        if call_id not in run.approvals:
            raise RequestFailed(
                400, f"No call {call_id!r} waits; waiting are: {', '.join(run.approvals)}", "unknown_call", "decisions"
            )
        try:
            Decision.of(decision)
        except ValueError as error:
            raise RequestFailed(400, str(error), "invalid_decision", "decisions") from None
    return given


@router.post("/{run_id}/follow_ups", status_code=202)
def follow_up(run_id: str, body: FollowUpBody, service: TheService, user: User) -> dict[str, Any]:
    """Sends a text to a run that is under way: its model gets it with the next tool result.

    `status` is `pending`; GET /v1/runs/{id} tells whether it was `delivered`, or `not_delivered` because the run
    ended first.
    """
    ticket = service.run(user, run_id).follow_up(body.text)
    return {"text": ticket.text, "status": ticket.status}
