"""A real MCP server for the tests: `python server.py stdio | sse PORT | http PORT`, on the official package."""

import asyncio
import base64
import os
import sys

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:  # 1.x
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

from mcp.types import EmbeddedResource, ImageContent, TextContent, TextResourceContents, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("tests")
PNG = base64.b64encode(b"\x89PNG fake").decode()


class Point(BaseModel):
    x: int
    y: int = 0


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def total(points: list[Point]) -> Point:
    """Adds points."""
    return Point(x=sum(p.x for p in points), y=sum(p.y for p in points))


@server.tool()
def fail(reason: str) -> str:
    """Always fails."""
    raise RuntimeError(reason)


@server.tool()
def mixed() -> list:
    """Text, a picture and a resource."""
    try:
        picture = ImageContent(type="image", data=PNG, mimeType="image/png")
    except Exception:
        picture = ImageContent(type="image", data=PNG, mime_type="image/png")
    held = TextResourceContents(uri="memo://a", text="inside")
    return [TextContent(type="text", text="see"), picture, EmbeddedResource(type="resource", resource=held)]


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Works for a while and tells how far it is; leaves a mark when it is cancelled."""
    try:
        for step in range(10):
            await ctx.report_progress(step, 10)
            await asyncio.sleep(seconds / 10)
    except asyncio.CancelledError:
        mark("cancelled")
        raise
    return "done"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def pid() -> int:
    """The server's process."""
    return os.getpid()


@server.tool()
def die(after: bool = False) -> str:
    """Ends the server at once."""
    mark("died")
    os._exit(1)


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool and says so."""

    def later() -> str:
        """Came later."""
        return "late"

    server.add_tool(later)
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.resource("memo://one")
def memo() -> str:
    """A memo."""
    return "remember"


def mark(text):
    path = os.environ.get("MARKS")
    if path:
        with open(path, "a") as stream:
            stream.write(text + "\n")


if __name__ == "__main__":
    kind = sys.argv[1]
    mark("started")
    if kind == "stdio":
        server.run()
    else:
        transport = {"sse": "sse", "http": "streamable-http"}[kind]
        try:
            server.run(transport, host="127.0.0.1", port=int(sys.argv[2]))
        except TypeError:  # 1.x has them in its settings
            server.settings.host, server.settings.port = "127.0.0.1", int(sys.argv[2])
            server.run(transport)
