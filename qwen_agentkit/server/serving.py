"""Runs a server in this process until it is told to stop, and lets running answers end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from qwen_agentkit.server.service import Service
from qwen_agentkit.server.users import is_loopback
from qwen_agentkit.utils.listening import bound_socket

# Beyond the time that runs get to end: for their last events to leave.
_LAST_EVENTS_SECONDS = 5
_LOOK_SECONDS = 0.05


class Server(uvicorn.Server):
    """Gives runs time to end when the process is told to stop, then cancels them.

    Args:
        config: Uvicorn's settings.
        service: The service of the application.
        started: Called when the server takes requests.
    """

    def __init__(self, config: uvicorn.Config, service: Service, started: Callable[[], object] = lambda: None) -> None:
        super().__init__(config)
        self._service = service
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        board = self._service.board
        board.closing = True
        ending = asyncio.ensure_future(self._end_runs())
        await super().shutdown(sockets)
        ending.cancel()

    async def _end_runs(self) -> None:
        """No run is left after `shutdown_seconds`; those in the background get that time, too."""
        loop = asyncio.get_running_loop()
        over = loop.time() + self._service.options.shutdown_seconds
        while not self._service.board.idle and loop.time() < over and not self.force_exit:
            await asyncio.sleep(_LOOK_SECONDS)
        self._service.board.close()


def run_server(
    app: FastAPI,
    host: str,
    port: int,
    settings: dict[str, Any],
    started: Callable[[str], object] | None = None,
) -> None:
    """Serves an application of `build_app`; see `qwen_agentkit.server.serve`.

    Raises:
        ValueError: The address can be reached from outside and there is neither a token nor `without_token`.
        OSError: The address is in use, or none of this machine's.
    """
    service: Service = app.state.service
    check_address(host, service)
    options = service.options
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        timeout_graceful_shutdown=int(options.shutdown_seconds) + _LAST_EVENTS_SECONDS,
        **{"log_level": "warning", "access_log": False, **settings},
    )
    # Bound here, so that an address in use is an error and not an exit.
    listening = bound_socket(host, port)
    scheme = "https" if config.is_ssl else "http"
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    address = f"{scheme}://{name}:{listening.getsockname()[1]}"
    Server(config, service, lambda: started(address) if started is not None else None).run([listening])


def check_address(host: str, service: Service) -> None:
    """Refuses to serve strangers by accident.

    Raises:
        ValueError: See `run_server`.
    """
    if service.tokens.wanted or service.options.without_token or is_loopback(host):
        return
    raise ValueError(
        f"The address {host} can be reached from other machines. Give tokens (--token USER:TOKEN), or say "
        "without_token (--no-token) to serve everyone who reaches it"
    )
