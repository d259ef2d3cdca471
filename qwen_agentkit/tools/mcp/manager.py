"""`MCPManager`: the way in that Qwen-Agent programs know."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.mcp.connection import close_all
from qwen_agentkit.tools.mcp.workbench import MCPWorkbench


class MCPManager:
    """Opens MCP servers; one instance a process, as in Qwen-Agent.

    The connections belong to the tools that were made: when the last tool of a configuration is gone, its servers
    are ended. What is left is ended with the process.
    """

    _instance: MCPManager | None = None
    _lock = threading.Lock()

    def __new__(cls) -> MCPManager:
        with cls._lock:
            if cls._instance is None:
                cls._instance = super().__new__(cls)
            return cls._instance

    def initConfig(self, config: Mapping[str, Any]) -> list[BaseTool]:
        """The tools of the servers of a configuration. A server that cannot be reached costs only its own.

        Args:
            config: As for `MCPWorkbench`.

        Raises:
            ValueError: The configuration is none.
        """
        return MCPWorkbench(config).list_tools()

    def shutdown(self) -> None:
        """Ends every connection and the processes of stdio servers."""
        close_all()
