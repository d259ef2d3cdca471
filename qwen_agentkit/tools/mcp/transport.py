"""Opening a session with a server, on the public interface of the `mcp` package, 1.x or 2.x."""

from __future__ import annotations

import importlib
import inspect
import ipaddress
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Any
from urllib.parse import urlsplit

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools.mcp.config import AUTO, SSE, STDIO, STREAMABLE_HTTP, ServerConfig
from qwen_agentkit.utils.optional import need

# What is shown of a server's error output when it does not start.
_ERROR_CHARS = 400


@asynccontextmanager
async def open_session(
    config: ServerConfig,
    on_message: Callable[[str], None],
    on_end: Callable[[], None],
    on_refused: Callable[[], None],
) -> AsyncIterator[Any]:
    """Connects and shakes hands. To be entered and left in one task.

    Args:
        config: The server.
        on_message: Called with the method of each notification of the server.
        on_end: Called when the server has gone and nothing can come any more.
        on_refused: Called when the server's address takes no connections; what was to be sent was not.

    Yields:
        The package's `ClientSession`.

    Raises:
        ToolServiceError: The server cannot be reached, or does not speak MCP.
    """
    kinds = [config.type] if config.type != AUTO else _kinds(config.url or "")
    failures: list[str] = []
    for kind in kinds:
        is_connected = False
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            try:
                async with AsyncExitStack() as stack:
                    session = await _connected(config, kind, stack, log, on_message, on_end, on_refused)
                    is_connected = True
                    yield session
                    return
            except Exception as error:
                if is_connected:
                    raise
                failures.append(f"{kind}: {_reason(error)}{_tail(log)}")
    raise ToolServiceError(None, "connect", f"The MCP server {config.name!r} cannot be reached ({'; '.join(failures)})")


def _kinds(url: str) -> list[str]:
    """Streamable HTTP is what servers speak now; SSE what older ones do, often at an address that says so."""
    if urlsplit(url).path.rstrip("/").endswith("/sse"):
        return [SSE, STREAMABLE_HTTP]
    return [STREAMABLE_HTTP, SSE]


async def _connected(
    config: ServerConfig,
    kind: str,
    stack: AsyncExitStack,
    log: IO[str],
    on_message: Callable[[str], None],
    on_end: Callable[[], None],
    on_refused: Callable[[], None],
) -> Any:
    mcp = need("mcp", extra="mcp")
    streams = await stack.enter_async_context(_transport(config, kind, log, on_refused))
    read, write = streams[0], streams[1]
    watched = await stack.enter_async_context(_watched(read, on_end))

    async def handle(message: Any) -> None:
        # 1.x wraps notifications in a root model, 2.x does not.
        method = getattr(getattr(message, "root", message), "method", None)
        if isinstance(method, str):
            on_message(method)

    session = await stack.enter_async_context(mcp.ClientSession(watched, write, message_handler=handle))
    await session.initialize()
    return session


@asynccontextmanager
async def _watched(read: Any, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """A stream with everything that `read` gives, which tells when `read` has ended.

    A session whose server has gone looks like any other until it is used, and a call must not be sent into it:
    whether the server did anything would not be known.
    """
    anyio = need("anyio", extra="mcp")
    send, receive = anyio.create_memory_object_stream(64)

    async def forward() -> None:
        try:
            async with send:
                async for message in read:
                    await send.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            pass  # the session has ended first
        finally:
            on_end()

    async with anyio.create_task_group() as group:
        group.start_soon(forward)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()


def _transport(config: ServerConfig, kind: str, log: IO[str], on_refused: Callable[[], None]) -> Any:
    if kind == STDIO:
        mcp = need("mcp", extra="mcp")
        parameters = mcp.StdioServerParameters(
            command=config.command or "", args=list(config.args), env=dict(config.env) or None, cwd=config.cwd
        )
        # Not to the program's own stderr: a notebook's has no file, and a command line's is for its user.
        return mcp.stdio_client(parameters, errlog=log)
    url = config.url or ""

    def http_client(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        return _http_client(config, url, headers, timeout, auth, on_refused)

    if kind == SSE:
        sse = importlib.import_module("mcp.client.sse")
        return sse.sse_client(
            url,
            headers=dict(config.headers),
            timeout=config.connect_timeout,
            sse_read_timeout=config.sse_read_timeout,
            httpx_client_factory=http_client,
        )
    return _streamable_http(config, url, http_client)


def _streamable_http(config: ServerConfig, url: str, http_client: Callable[..., Any]) -> Any:
    module = importlib.import_module("mcp.client.streamable_http")
    client = getattr(module, "streamable_http_client", None)
    if client is not None and "http_client" in inspect.signature(client).parameters:
        return _with_own_client(config, url, client, http_client)
    old = module.streamablehttp_client
    return old(
        url,
        headers=dict(config.headers),
        timeout=config.connect_timeout,
        sse_read_timeout=config.sse_read_timeout,
        httpx_client_factory=http_client,
    )


@asynccontextmanager
async def _with_own_client(
    config: ServerConfig, url: str, transport: Callable[..., Any], http_client: Callable[..., Any]
) -> AsyncIterator[Any]:
    async with (
        http_client(dict(config.headers)) as client,
        transport(url, http_client=client) as streams,
    ):
        yield streams


def _http_client(
    config: ServerConfig, url: str, headers: Any, timeout: Any, auth: Any, on_refused: Callable[[], None]
) -> Any:
    """The HTTP client that the installed version of `mcp` works with. Proxies are not used for this machine."""
    httpx = _httpx()

    class Client(httpx.AsyncClient):  # type: ignore[misc, name-defined]
        # 1.x only logs a request that found no server, and its caller waits for the answer for ever.
        async def send(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return await super().send(*args, **kwargs)
            except httpx.ConnectError:
                on_refused()
                raise

    if timeout is None:
        timeout = httpx.Timeout(config.connect_timeout, read=config.sse_read_timeout)
    return Client(headers=headers, timeout=timeout, auth=auth, follow_redirects=False, trust_env=not _is_loopback(url))


def _httpx() -> Any:
    """`httpx2` for mcp 2.x, `httpx` before it."""
    module = importlib.import_module("mcp.client.streamable_http")
    return getattr(module, "httpx2", None) or getattr(module, "httpx", None) or need("httpx", extra="mcp")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _reason(error: BaseException) -> str:
    """The first cause in a group of errors, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:_ERROR_CHARS]


def _tail(log: IO[str]) -> str:
    log.seek(0, 2)
    log.seek(max(0, log.tell() - _ERROR_CHARS * 4))
    said = " ".join(log.read().split())[-_ERROR_CHARS:]
    return f"; it said: {said}" if said else ""
