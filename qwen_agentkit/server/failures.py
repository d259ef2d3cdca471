"""What a client is told when something fails: OpenAI's error shape, with a status that fits.

    {"error": {"message": "...", "type": "invalid_request_error", "param": null, "code": "model_not_found"}}

Source of the shape: https://platform.openai.com/docs/guides/error-codes. A client never gets a traceback; that is in
the server's log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.errors import ModelServiceError, QwenAgentKitError, RunLimitExceeded

INVALID_REQUEST = "invalid_request_error"
SERVER_ERROR = "server_error"


@dataclass
class RequestFailed(Exception):
    """A request that is answered with an error.

    Args:
        status: HTTP status.
        message: What is wrong, for the caller.
        code: A short name that programs can rely on.
        param: The part of the request that is wrong.
        headers: Headers of the response.
    """

    status: int
    message: str
    code: str
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The body of the response."""
        return error_body(self.status, self.message, self.code, self.param)


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def error_body(status: int, message: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    """The body of an error response."""
    kind = _TYPES.get(status, INVALID_REQUEST if status < 500 else SERVER_ERROR)
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def of_run(error: BaseException, run_id: str) -> RequestFailed:
    """What a client is told about the error that ended its run.

    Errors of the package are made to be read and are told as they are; of any other only the kind is.
    """
    if isinstance(error, ModelServiceError):
        busy = str(error.code) == "429"
        return RequestFailed(429 if busy else 502, str(error.message), "model_busy" if busy else "model_error")
    if isinstance(error, RunLimitExceeded):
        return RequestFailed(422, str(error), f"limit_{error.which}")
    if isinstance(error, TimeoutError):
        return RequestFailed(409, str(error) or "The session was busy for too long", "session_busy")
    if isinstance(error, QwenAgentKitError):
        return RequestFailed(500, str(error), "agent_error")
    return RequestFailed(
        500, f"The agent failed ({type(error).__name__}); the server's log has the cause, at {run_id}", "agent_error"
    )


def not_found(what: str, name: str, param: str | None = None) -> RequestFailed:
    """A thing that is not there, or not this user's."""
    return RequestFailed(404, f"There is no {what} {name!r}", f"{what.replace(' ', '_')}_not_found", param)
