"""`MCPWorkbench`: the tools of MCP servers, as they are at this moment."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.mcp.config import ServerConfig, read_servers
from qwen_agentkit.tools.mcp.connection import ServerConnection
from qwen_agentkit.tools.mcp.tool import ListResources, MCPTool, ReadResource
from qwen_agentkit.tools.workbench import WorkbenchBase


class MCPWorkbench(WorkbenchBase):
    """MCP servers as a workbench.

    Args:
        config: `{"mcpServers": {name: {"command", "args", "env"} or {"url", "headers", "type"}}}`; further settings
            of a server: `connect_timeout`, `timeout`, `sse_read_timeout`, `tools` (names of those that are wanted).

    Nothing is connected before it is needed; then all servers at once. A server that cannot be reached costs only
    its own tools, and is tried again later. A list is asked for anew when the server says that it changed.

    Raises:
        ValueError: The configuration is none.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._servers = [_Server(one) for one in read_servers(config)]

    def list_tools(self) -> list[BaseTool]:
        """The tools of all servers that can be reached.

        A server that cannot be reached is a warning in the log and the run's events.
        """
        asked = [(server, server.ask()) for server in self._servers]
        listed: dict[str, BaseTool] = {}
        for server, answer in asked:
            for tool in server.tools(answer):
                if tool.name in listed:
                    _warn(f"Two tools are named {tool.name}; that of the server {server.config.name} is left out")
                else:
                    listed[tool.name] = tool
        return list(listed.values())

    def start(self) -> None:
        """Nothing: servers are connected when their tools are first listed."""

    def stop(self) -> None:
        """Ends all connections, and the processes of stdio servers. Listing again connects anew."""
        for server in self._servers:
            server.connection.close()


class _Server:
    """One server and the list of its tools."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.connection = ServerConnection(config)
        self._lock = threading.Lock()
        self._tools: list[BaseTool] | None = None
        self.connection.on_tools_changed(self._forget)

    def _forget(self) -> None:
        with self._lock:
            self._tools = None

    def ask(self) -> concurrent.futures.Future[tuple[list[Any], list[Any]]] | None:
        """Starts asking for the tools; None when they are known."""
        with self._lock:
            return None if self._tools is not None else self.connection.submit(self._ask)

    async def _ask(self) -> tuple[list[Any], list[Any]]:
        tools = await self.connection.list_tools()
        try:
            resources = await self.connection.list_resources()
        except ToolServiceError as error:
            logger.debug("The MCP server %s lists no resources: %s", self.config.name, error)
            resources = []
        return tools, resources

    def tools(self, answer: concurrent.futures.Future[tuple[list[Any], list[Any]]] | None) -> list[BaseTool]:
        """The tools; none, with a warning, when the server cannot be reached."""
        if answer is None:
            with self._lock:
                return list(self._tools or [])
        try:
            described, resources = answer.result(self.config.connect_timeout * 3)
        except ToolServiceError as error:
            _warn(f"The tools of the MCP server {self.config.name} are missing: {error.message}")
            return []
        except (TimeoutError, concurrent.futures.CancelledError, asyncio.CancelledError) as error:
            answer.cancel()
            _warn(f"The tools of the MCP server {self.config.name} are missing: {type(error).__name__}")
            return []
        made = self._made(described)
        if resources:
            made += [ListResources(self.connection), ReadResource(self.connection)]
        with self._lock:
            self._tools = made
        return list(made)

    def _made(self, described: Sequence[Any]) -> list[BaseTool]:
        made: list[BaseTool] = []
        for one in described:
            if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
                _warn(f"The MCP server {self.config.name} lists something that is no tool")
                continue
            if self.config.only is not None and one["name"] not in self.config.only:
                continue
            try:
                made.append(MCPTool(self.connection, one))
            except ValueError as error:
                _warn(f"A tool of the MCP server {self.config.name} is left out: {error}")
        return made

    def __reduce__(self):
        return _Server, (self.config,)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Server:
        return self


def _warn(message: str) -> None:
    run = current_run()
    if run is not None:
        run.warn(message)
    else:
        logger.warning(message)
