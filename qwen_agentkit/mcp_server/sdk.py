"""What is used of the `mcp` package, whose 2.x has other names for it than 1.x. Imported only by what serves."""

from __future__ import annotations

from typing import Any

from mcp.types import ToolAnnotations

try:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:
    from mcp.server.fastmcp import Context  # type: ignore[no-redef, attr-defined]
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[no-redef, attr-defined]
    from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[no-redef]

__all__ = ["Context", "MCPServer", "ToolError", "hints"]


def hints(title: str, *, read_only: bool) -> Any:
    """Hints for the client about a tool.

    Args:
        title: Its name for people.
        read_only: It changes nothing outside.
    """
    return ToolAnnotations.model_validate({"title": title, "readOnlyHint": read_only})
