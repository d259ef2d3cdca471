"""What every request passes on its way in and out: the bound of its size, and the count of its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from qwen_agentkit.server.failures import error_body
from qwen_agentkit.server.service import Service

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

TOO_LARGE = "request_too_large"

# Around the file in a multipart body.
_ENVELOPE_BYTES = 64_000
# How much of a refused body is still read, and for how many seconds.
_DRAIN_BYTES = 16_000_000
_DRAIN_SECONDS = 5.0


class SizeGuard:
    """Refuses bodies that are too large, before they are read when they say so, else while they come.

    Args:
        app: The application inside.
        service: Holds the bounds.
    """

    def __init__(self, app: Application, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        options = self._service.options
        most = options.max_body_bytes
        if scope["path"].endswith("/files"):
            most = options.max_upload_bytes + _ENVELOPE_BYTES
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if length.isdigit() and int(length) > most:
            await _drain(receive)
            await _too_large(most)(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            if message["type"] == "http.request":
                size += len(message.get("body") or b"")
                if size > most:
                    if message.get("more_body"):
                        await _drain(receive)
                    # FastAPI lets this kind of error pass while it reads a body.
                    raise HTTPException(413, _text(most))
            return message

        await self._app(scope, counted, send)


class RequestCount:
    """Counts each answer by method, route and status.

    Args:
        app: The application inside.
        service: Holds the counts.
    """

    def __init__(self, app: Application, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            # The route's pattern, not the path: ids must not become names of counts.
            route = getattr(scope.get("route"), "path", "other")
            # 499, as nginx has it: the client left before anything was sent.
            self._service.metrics.requests.labels(scope["method"], route, str(status or 499)).inc()


async def _drain(receive: Receive) -> None:
    """Reads on in a refused body, within bounds, and forgets it.

    A connection that is closed with unread bytes is reset, and the client, which is still sending, never sees why.
    """
    left = _DRAIN_BYTES
    with anyio.move_on_after(_DRAIN_SECONDS):
        while left > 0:
            message = await receive()
            left -= len(message.get("body") or b"")
            if not message.get("more_body"):
                return


def _text(most: int) -> str:
    return f"The body of this request has at most {most} bytes"


def _too_large(most: int) -> JSONResponse:
    return JSONResponse(error_body(413, _text(most), TOO_LARGE), 413, {"Connection": "close"})
