"""`MCPWorkbench`: the tools of MCP servers, as they are at this moment."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.mcp.config import ServerConfig, read_servers
from qwen_agentkit.tools.mcp.connection import ServerConnection
from qwen_agentkit.tools.mcp.tool import ListResources, MCPTool, ReadResource
from qwen_agentkit.tools.workbench import WorkbenchBase

_Answer = concurrent.futures.Future[tuple[list[Any], list[Any]]]


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
        self._config = config
        self._servers = [_Server(one) for one in read_servers(config)]
        # Runs that are using it: one of several that ends leaves the connections to the others.
        self._users = 0
        self._lock = threading.Lock()

    def list_tools(self) -> list[BaseTool]:
        """The tools of all servers that can be reached.

        A server that cannot be reached is a warning in the log and the run's events.
        """
        asked = [(server, server.ask()) for server in self._servers]
        return self._united((server, server.tools(answer)) for server, answer in asked)

    def current_tools(self) -> list[BaseTool]:
        """The tools as they are known now.

        A server that is connected and whose list changed is asked; one that is away is asked beside, and gives what it
        gave last, so that nobody waits for it.
        """
        return self._united((server, server.now()) for server in self._servers)

    @staticmethod
    def _united(lists: Iterable[tuple[_Server, list[BaseTool]]]) -> list[BaseTool]:
        listed: dict[str, BaseTool] = {}
        for server, tools in lists:
            for tool in tools:
                if tool.name in listed:
                    _warn(f"Two tools are named {tool.name}; that of the server {server.config.name} is left out")
                else:
                    listed[tool.name] = tool
        return list(listed.values())

    def start(self) -> None:
        """Notes another user; servers are connected when their tools are first listed."""
        with self._lock:
            self._users += 1

    def stop(self) -> None:
        """Ends all connections, and the processes of stdio servers, once nobody who started it is left.

        Listing again connects anew.
        """
        with self._lock:
            self._users = max(0, self._users - 1)
            is_used = self._users > 0
        if not is_used:
            for server in self._servers:
                server.connection.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> MCPWorkbench:
        return self  # its servers serve the copies of an agent

    def __reduce__(self):
        return MCPWorkbench, (self._config,)


class _Server:
    """One server and the list of its tools."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.connection = ServerConnection(config)
        self._lock = threading.Lock()
        self._tools: list[BaseTool] | None = None
        self._last: list[BaseTool] = []
        self._pending: _Answer | None = None
        self._was_asked = False
        self.connection.on_tools_changed(self._forget)

    def _forget(self) -> None:
        with self._lock:
            self._tools = None

    def ask(self) -> _Answer | None:
        """Starts asking for the tools; None when they are known."""
        with self._lock:
            return None if self._tools is not None else self.connection.submit(self._ask)

    def now(self) -> list[BaseTool]:
        """The tools, without waiting for a server that is away."""
        with self._lock:
            if self._tools is not None:
                return list(self._tools)
            if self._was_asked and not self.connection.is_live:
                if self._pending is None:
                    self._pending = self.connection.submit(self._ask)
                if not self._pending.done():
                    return list(self._last)
            pending, self._pending = self._pending, None
        return self.tools(pending if pending is not None else self.ask()) or list(self._last)

    async def _ask(self) -> tuple[list[Any], list[Any]]:
        tools = await self.connection.list_tools()
        try:
            resources = await self.connection.list_resources()
        except ToolServiceError as error:
            logger.debug("The MCP server %s lists no resources: %s", self.config.name, error)
            resources = []
        return tools, resources

    def tools(self, answer: _Answer | None) -> list[BaseTool]:
        """The tools; none, with a warning, when the server cannot be reached."""
        if answer is None:
            with self._lock:
                return list(self._tools or [])
        self._was_asked = True
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
            self._tools = self._last = made
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
