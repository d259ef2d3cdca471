"""What is used of the `mcp` package, whose 2.x has other names for it than 1.x. Imported only by what serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.types import ToolAnnotations

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
else:
    try:
        from mcp.server.mcpserver import Context, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ModuleNotFoundError:
        from mcp.server.fastmcp import Context
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError

__all__ = ["Context", "MCPServer", "ToolError", "hints"]


def hints(title: str, *, read_only: bool) -> Any:
    """Hints for the client about a tool.

    Args:
        title: Its name for people.
        read_only: It changes nothing outside.
    """
    return ToolAnnotations.model_validate({"title": title, "readOnlyHint": read_only})
