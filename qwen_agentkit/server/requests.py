"""What the routes take from a request: the service, the user, and the keys in headers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Request, Security
from fastapi.security import HTTPBearer

from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.service import Service
from qwen_agentkit.server.users import check_browser

# For the OpenAPI document; the header itself is read below, so that an error has this server's shape.
_bearer = HTTPBearer(auto_error=False, description="A token of the server; servers without tokens ask for none.")


def service_of(request: Request) -> Service:
    """The service of the application."""
    return request.app.state.service


def user_of(request: Request, _: Annotated[Any, Security(_bearer)] = None) -> str:
    """Whose request it is.

    Raises:
        RequestFailed: 401 without a known token; 403 for what a foreign web page sends to a server without tokens.
    """
    service: Service = request.app.state.service
    if not service.tokens.wanted:
        options = service.options
        if not options.without_token:
            check_browser(
                request.headers.get("host"), request.headers.get("origin"), options.allowed_hosts, options.cors_origins
            )
    return service.tokens.user(request.headers.get("authorization"))


def last_event_id(value: Annotated[str | None, Header(alias="Last-Event-ID")] = None) -> int | None:
    """Number of the last event that the client has; None when it does not say.

    Raises:
        RequestFailed: 400: it is no number.
    """
    if value is None or value == "":
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise RequestFailed(400, f"Last-Event-ID is the number of an event, not {value[:40]!r}", "invalid_event_id")
    return int(value)


TheService = Annotated[Service, Depends(service_of)]
User = Annotated[str, Depends(user_of)]
LastEventId = Annotated[int | None, Depends(last_event_id)]
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same key again gives the run that the first request began."),
]
