"""`MCPTool`: a tool of an MCP server, and the two tools for its resources."""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import RunCancelled, ToolServiceError
from qwen_agentkit.events import ToolProgress
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.execution import current_call_id
from qwen_agentkit.tools.mcp.connection import ServerConnection
from qwen_agentkit.tools.mcp.content import resource_of, result_of
from qwen_agentkit.tools.results import to_json

# Seconds that a call waits beyond its own bound before it is given up: connecting is not counted in it.
_MARGIN = 5.0
# What names of functions may be made of in the protocols of models, and how long they may be.
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64


class _ServerTool(BaseTool):
    """What tools of a server share: waiting for the background loop, in any thread, until done or cancelled."""

    # What a server says is somebody else's text.
    fenced = True

    def __init__(self, connection: ServerConnection, name: str) -> None:
        self._connection = connection
        self.name = function_name(connection.config.name, name)
        config = connection.config
        # The loop's bound lies beyond the call's own, so that a server may be connected anew within it.
        self.timeout = None if config.timeout is None else config.timeout + config.connect_timeout + _MARGIN
        super().__init__()

    @property
    def server(self) -> str:
        """Name of the server."""
        return self._connection.config.name

    def _seconds(self) -> float:
        own = self._connection.config.timeout
        return own if own is not None else settings.DEFAULT_TOOL_TIMEOUT

    def _wait(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result of `work()` on the background loop.

        Raises:
            RunCancelled: The run was cancelled; the server is told.
            ToolServiceError: As `work` raises it, or it did not come back in time.
        """
        future = self._connection.submit(work)
        run = current_run()
        forget = run.cancel.on_cancel(future.cancel) if run is not None else _nothing
        try:
            return future.result(self._seconds() + self._connection.config.connect_timeout + _MARGIN)
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            if run is not None:
                run.cancel.raise_if_cancelled()
            raise RunCancelled("the call was cancelled") from None
        except TimeoutError as error:
            future.cancel()
            raise ToolServiceError(error, "timeout", f"{self.name} did not answer in time") from error
        finally:
            forget()


class MCPTool(_ServerTool):
    """A tool of a server, under the name `<server>-<tool>`.

    Args:
        connection: The server.
        described: The tool as the server lists it.

    Raises:
        ValueError: Its schema is none.
    """

    def __init__(self, connection: ServerConnection, described: Mapping[str, Any]) -> None:
        self._described = dict(described)
        self._tool_name = str(described["name"])
        annotations = described.get("annotations") or {}
        self.description = str(described.get("description") or described.get("title") or annotations.get("title") or "")
        schema = described.get("inputSchema")
        self.parameters = schema if isinstance(schema, Mapping) else {"type": "object", "properties": {}}
        # What a server does not say is taken for the worse.
        self.side_effects = not annotations.get("readOnlyHint", False)
        self._may_repeat = bool(annotations.get("readOnlyHint") or annotations.get("idempotentHint"))
        super().__init__(connection, self._tool_name)

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Any:
        """What the server gives: text, or content items with pictures, sound and files.

        Raises:
            ToolArgumentsError: The arguments do not fit the server's schema.
            ToolServiceError: The server cannot be reached, went away, or reports an error.
        """
        arguments = self._verify_json_format_args(params)
        run, call_id = current_run(), current_call_id.get() or ""

        def progress(done: float, total: float | None, message: str | None) -> None:
            if run is not None:
                data = {"progress": done, "total": total, "message": message}
                run.emit(ToolProgress, call_id=call_id, name=self.name, data=data)

        result = self._wait(
            lambda: self._connection.call_tool(self._tool_name, arguments, self._seconds(), self._may_repeat, progress)
        )
        return result_of(result, self.name)

    def __reduce__(self):
        return MCPTool, (self._connection, self._described)


class ListResources(_ServerTool):
    """Lists what a server has to read."""

    parameters = {"type": "object", "properties": {}}

    def __init__(self, connection: ServerConnection) -> None:
        self.description = f"Lists the resources of the server {connection.config.name}, with their addresses."
        super().__init__(connection, "list_resources")

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The resources as JSON.

        Raises:
            ToolServiceError: The server cannot be reached.
        """
        self._verify_json_format_args(params)
        return to_json(self._wait(self._connection.list_resources))

    def __reduce__(self):
        return ListResources, (self._connection,)


class ReadResource(_ServerTool):
    """Reads one resource of a server."""

    parameters = {
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "Address of the resource, as listed."}},
        "required": ["uri"],
    }

    def __init__(self, connection: ServerConnection) -> None:
        self.description = f"Reads a resource of the server {connection.config.name}."
        super().__init__(connection, "read_resource")

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Any:
        """Its content: text, or content items.

        Raises:
            ToolServiceError: The server cannot be reached, or has no such resource.
        """
        uri = self._verify_json_format_args(params)["uri"]
        return resource_of(self._wait(lambda: self._connection.read_resource(uri, self._seconds())))

    def __reduce__(self):
        return ReadResource, (self._connection,)


def function_name(server: str, tool: str) -> str:
    """`<server>-<tool>` as a name that every model's protocol takes; what had to be cut ends in a mark of its own."""
    whole = f"{server}-{tool}"
    name = _FORBIDDEN.sub("_", whole)
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - 9]}_{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def _nothing() -> None:
    """In place of taking a callback off a token that is not there."""
