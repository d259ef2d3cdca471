"""A local MCP server over stdin and stdout that stands in for the public ones: time, fetch, sqlite, files, mind maps.

`python mcp_server.py KIND [arguments]`; KIND is the name of the package that uvx or npx was asked for.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # 1.x
    from mcp.server.fastmcp import FastMCP as MCPServer


def make(kind: str, arguments: list[str]) -> MCPServer:
    server = MCPServer(kind)
    if "time" in kind:

        @server.tool()
        def get_current_time(timezone: str) -> str:
            """The time in a zone."""
            return f"2025-05-01T12:00:00 in {timezone}"

    elif "fetch" in kind:

        @server.tool()
        def fetch(url: str) -> str:
            """A page as text."""
            return f"The page {url} is empty."

    elif "sqlite" in kind:
        database = arguments[arguments.index("--db-path") + 1]

        @server.tool()
        def list_tables() -> str:
            """The tables of the database."""
            with sqlite3.connect(database) as connection:
                return str(connection.execute("select name from sqlite_master where type = 'table'").fetchall())

        @server.tool()
        def write_query(query: str) -> str:
            """Runs a statement that changes the database."""
            with sqlite3.connect(database) as connection:
                connection.executescript(query)
            return "done"

        @server.tool()
        def read_query(query: str) -> str:
            """Runs a select."""
            with sqlite3.connect(database) as connection:
                return str(connection.execute(query).fetchall())

    elif "filesystem" in kind:

        @server.tool()
        def read_file(path: str) -> str:
            """The text of a file."""
            return Path(path).read_text("utf-8")

    else:

        @server.tool()
        def convert_markdown_to_mindmap(markdown_content: str) -> str:
            """A mind map of a text, as the path of a file."""
            path = Path("mindmap.html").resolve()
            path.write_text(markdown_content, "utf-8")
            return str(path)

    return server


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2:]).run(transport="stdio")
