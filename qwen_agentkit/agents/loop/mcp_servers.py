"""Tools of MCP servers that stand in a `function_list`: as the servers have them now, not as they once were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.tools.base import BaseTool


class ServerTools:
    """The servers of one `mcpServers` item.

    Args:
        config: The item.

    Attributes:
        first: The tools that were found when the agent was made.

    Raises:
        ValueError: The configuration is none.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        from qwen_agentkit.tools.mcp import MCPWorkbench

        self.bench = MCPWorkbench(config)
        self.first: list[BaseTool] = self.bench.list_tools()

    def brought_up_to_date(self, tools: Mapping[str, BaseTool]) -> dict[str, BaseTool]:
        """An agent's tools with those of the servers as they are now.

        What the program itself put under a name, or took away, stays as it wants it. A server that is away keeps the
        tools it had, for which it is connected again when one is called; nobody waits for it here.

        Args:
            tools: The agent's tools by name.
        """
        now = {tool.name: tool for tool in self.bench.current_tools()}
        brought: dict[str, BaseTool] = {}
        given = {tool.name: tool for tool in self.first}
        for name, tool in tools.items():
            if tool is not given.get(name):
                brought[name] = tool
            elif name in now:
                brought[name] = now[name]
        return brought | {name: tool for name, tool in now.items() if name not in given and name not in brought}
