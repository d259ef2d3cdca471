"""The ASGI application: routes, guards, errors, and what begins and ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse

from qwen_agentkit.agent import Agent
from qwen_agentkit.log import logger
from qwen_agentkit.server import chat_routes, house_routes, openai_routes, run_routes, session_routes
from qwen_agentkit.server.failures import RequestFailed, error_body
from qwen_agentkit.server.guards import TOO_LARGE, RequestCount, SizeGuard
from qwen_agentkit.server.options import ServerOptions
from qwen_agentkit.server.service import Service
from qwen_agentkit.version import __version__

_CODES = {404: "not_found", 405: "method_not_allowed", 413: TOO_LARGE}

# Where a field may be one of several types, pydantic puts their names into the path.
_TYPE_NAME = re.compile(r"bool|str|constrained-str|(?:dict|list)\[.*\]")

_ERROR: dict[str, Any] = {
    "description": "An error in OpenAI's shape.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["message", "type", "param", "code"],
                        "properties": {
                            "message": {"type": "string"},
                            "type": {"type": "string"},
                            "param": {"type": ["string", "null"]},
                            "code": {"type": ["string", "null"]},
                        },
                    }
                },
            }
        }
    },
}
# 422 is FastAPI's own shape unless it is described here.
_RESPONSES: dict[int | str, dict[str, Any]] = {"4XX": _ERROR, "422": _ERROR, "5XX": _ERROR}


def build_app(agents: Agent | Sequence[Agent], options: ServerOptions | None = None) -> FastAPI:
    """See `qwen_agentkit.server.create_app`; the service is at `app.state.service`."""
    service = Service(agents, options or ServerOptions())

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # An application may be started again, as test clients do.
        service.board.closing = False
        housekeeping = asyncio.create_task(service.keep_house())
        try:
            yield
        finally:
            housekeeping.cancel()
            service.board.close()
            service.close()

    app = FastAPI(
        title="qwen_agentkit",
        version=__version__,
        description="Agents over HTTP.",
        lifespan=lifespan,
        responses=_RESPONSES,
        **_quiet(),
    )
    app.state.service = service
    for module in (openai_routes, run_routes, chat_routes, session_routes, house_routes):
        app.include_router(module.router)
    app.add_exception_handler(RequestFailed, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(KeyError, _gone)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(SizeGuard, service=service)
    if service.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.cors_origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["X-Run-Id", "Retry-After"],
        )
    app.add_middleware(RequestCount, service=service)
    return app


def _quiet() -> dict[str, Any]:
    """Arguments that keep newer FastAPI from exporting by itself, and request contents out of what is exported."""
    if "telemetry" not in inspect.signature(FastAPI.__init__).parameters:
        return {}
    return {"telemetry": {"auto_configure": False, "logs": False, "operation_spans": False}}


async def _refused(request: Request, error: Any) -> JSONResponse:
    return JSONResponse(error.to_dict(), error.status, error.headers)


async def _invalid(request: Request, error: Any) -> JSONResponse:
    found = [(_place(one), one["msg"]) for one in error.errors()]
    problems = "; ".join(f"{place or 'body'}: {problem}" for place, problem in found)
    return JSONResponse(error_body(422, problems, "invalid_request", (found[0][0] or None) if found else None), 422)


def _place(problem: dict[str, Any]) -> str:
    """Which field a problem is about, "" for the body itself."""
    if problem["type"] == "json_invalid":
        return ""
    return ".".join(part for part in map(str, problem["loc"][1:]) if not _TYPE_NAME.fullmatch(part))


async def _http_error(request: Request, error: Any) -> JSONResponse:
    body = error_body(error.status_code, str(error.detail), _CODES.get(error.status_code))
    return JSONResponse(body, error.status_code, error.headers)


async def _gone(request: Request, error: Any) -> JSONResponse:
    # A session says so when it was deleted by another request in the same moment.
    if "There is no session" not in str(error):
        return await _failed(request, error)
    return JSONResponse(error_body(404, str(error.args[0]), "session_not_found", "session_id"), 404)


async def _failed(request: Request, error: Any) -> JSONResponse:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return JSONResponse(error_body(500, "The server failed; its log has the cause", "internal_error"), 500)
