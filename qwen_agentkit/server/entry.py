"""The two ways to start a server: an ASGI application, or a process that serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from fastapi import FastAPI

    from qwen_agentkit.agent import Agent
    from qwen_agentkit.server.options import ServerOptions

DEFAULT_PORT = 8000


def create_app(agents: Agent | Sequence[Agent], options: ServerOptions | None = None) -> FastAPI:
    """An ASGI application that serves agents; run it with `serve`, or with any ASGI server in one process.

    Args:
        agents: An agent, or several with names that differ; a team is one agent.
        options: Settings; None are the defaults: no token, the user `local`.

    Raises:
        MissingDependencyError: The extra `server` is not installed.
        ValueError: No agent, or names that do not tell them apart.
    """
    for module in ("fastapi", "prometheus_client", "python_multipart", "sqlalchemy"):
        need(module, extra="server")
    from qwen_agentkit.server.app import build_app

    return build_app(agents, options)


def serve(
    agents: Agent | Sequence[Agent],
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    options: ServerOptions | None = None,
    *,
    started: Callable[[str], object] | None = None,
    **uvicorn_settings: Any,
) -> None:
    """Serves agents until the process is told to stop (SIGINT, SIGTERM); running answers get time to end.

    Args:
        agents: As for `create_app`.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        options: Settings.
        started: Called with the server's address when it takes requests.
        **uvicorn_settings: Further arguments of `uvicorn.Config`, such as `ssl_certfile`.

    Raises:
        MissingDependencyError: The extra `server` is not installed.
        ValueError: The address can be reached from outside and there is neither a token nor `without_token`.
        OSError: The address is in use, or none of this machine's.
    """
    need("uvicorn", extra="server")
    from qwen_agentkit.server.serving import run_server

    run_server(create_app(agents, options), host, port, uvicorn_settings, started)
