"""`/healthz` and `/metrics`: for whoever runs the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from qwen_agentkit.server.requests import TheService, User
from qwen_agentkit.version import __version__

router = APIRouter(tags=["Server"])


@router.get("/healthz", response_model=None)
def healthz(service: TheService) -> Response:
    """Whether the server takes runs; asks for no token. 503 when it is shutting down."""
    body: dict[str, Any] = {
        "status": "stopping" if service.board.closing else "ok",
        "version": __version__,
        "runs": {"running": service.board.running, "waiting": service.board.waiting},
    }
    return JSONResponse(body, 503 if service.board.closing else 200)


@router.get("/metrics", response_model=None)
def metrics(service: TheService, user: User) -> Response:
    """Counts and times in the text form that Prometheus reads."""
    return Response(service.metrics.text(), media_type=service.metrics.content_type)
