"""`ServerConnection`: one server, connected when it is needed and again when it was lost."""

from __future__ import annotations

import asyncio
import atexit
import functools
import importlib
import os
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.tools.mcp.config import ServerConfig
from qwen_agentkit.tools.mcp.transport import open_session
from qwen_agentkit.utils.background_loop import background_loop

# Seconds before the next try after one, two, ... failures to connect in a row.
_BACKOFF = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# A call that found the server gone before it was sent is tried again this often.
_CALL_TRIES = 3
# Seconds that a server gets to end by itself.
_CLOSE_SECONDS = 5.0
# Pages of a list that are asked for; a server that gives endless pages is cut off.
_MAX_PAGES = 100

_open: weakref.WeakSet[ServerConnection] = weakref.WeakSet()

Progress = Callable[[float, float | None, str | None], None]


class ServerConnection:
    """A connection that lives in a task of its own on the background loop.

    Args:
        config: The server.

    It may be used from any thread. After a fork, and in a copy or another process, it connects anew.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self._pid = os.getpid()
        self._lock: asyncio.Lock | None = None
        # Not a field of its own: what ends the session when this object is gone must not hold this object.
        self._held: list[_Live] = []
        self._failures = 0
        self._next_try = 0.0
        self._listeners: list[Callable[[], None]] = []
        _open.add(self)
        weakref.finalize(self, _let_go, self._held).atexit = False

    @property
    def _live(self) -> _Live | None:
        return self._held[0] if self._held else None

    @_live.setter
    def _live(self, live: _Live | None) -> None:
        self._held[:] = [] if live is None else [live]

    @property
    def is_live(self) -> bool:
        """Whether there is a session that has not ended."""
        live = self._live
        return self._pid == os.getpid() and live is not None and not live.has_ended

    # ---- from any thread -------------------------------------------------------------------------------------

    def submit(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Starts `await work()` on the background loop and returns its future."""
        self._forget_after_fork()

        async def run() -> Any:
            return await work()

        return asyncio.run_coroutine_threadsafe(run(), background_loop())

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        """Calls `listener` when the server's list of tools may be another."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Ends the connection, and a stdio server with it. A later call connects anew."""
        if self._pid != os.getpid() or self._live is None:
            return
        try:
            self.submit(self._close).result(_CLOSE_SECONDS * 2)
        except TimeoutError:
            logger.warning("The MCP server %s did not end in time", self.config.name)

    # ---- on the background loop ------------------------------------------------------------------------------

    async def list_tools(self) -> list[dict[str, Any]]:
        """Every tool as the dict of the protocol (`name`, `description`, `inputSchema`, `annotations`)."""
        return await self._pages("list_tools", "tools")

    async def list_resources(self) -> list[dict[str, Any]]:
        """Every resource as the dict of the protocol; none from a server that has none."""
        live = await self._connected()
        capabilities = getattr(live.session, "get_server_capabilities", None)
        known = capabilities() if callable(capabilities) else getattr(live.session, "server_capabilities", None)
        if known is not None and getattr(known, "resources", None) is None:
            return []
        return await self._pages("list_resources", "resources")

    async def read_resource(self, uri: str, seconds: float) -> dict[str, Any]:
        """The result of `resources/read` as a dict."""
        result = await self._ask(lambda session: session.read_resource(uri), seconds, may_repeat=True)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], seconds: float, may_repeat: bool, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result of `tools/call` as a dict (`content`, `structuredContent`, `isError`).

        Args:
            name: The tool's name on the server.
            arguments: Its arguments.
            seconds: For this call, connecting not counted.
            may_repeat: The call changes nothing, so it may be made again when the server went away in the middle.
            progress: Called with progress, total and message.

        Raises:
            ToolServiceError: The server cannot be reached, went away, or refused the call; `code` says which.
        """

        async def on_progress(done: float, total: float | None = None, message: str | None = None) -> None:
            if progress is not None:
                progress(done, total, message)

        result = await self._ask(
            lambda session: session.call_tool(name, arguments, progress_callback=on_progress), seconds, may_repeat
        )
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _pages(self, method: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            request = functools.partial(_list, method, cursor)
            result = await self._ask(request, self.config.connect_timeout, may_repeat=True)
            page = result.model_dump(by_alias=True, mode="json", exclude_none=True)
            found += page.get(key) or []
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    async def _ask(self, request: Callable[[Any], Awaitable[Any]], seconds: float, may_repeat: bool) -> Any:
        """Sends a request, over a new connection when the old one is gone."""
        problem: ToolServiceError | None = None
        for _ in range(_CALL_TRIES):
            live = await self._connected()
            try:
                async with asyncio.timeout(seconds):
                    return await live.answer(request)
            except TimeoutError as error:
                raise ToolServiceError(
                    error, "timeout", f"The MCP server {self.config.name!r} did not answer within {seconds:g} seconds"
                ) from error
            except Exception as error:
                kind = _kind_of(error, live)
                problem = ToolServiceError(error, kind, _told(self.config.name, kind, error))
                if kind == "refused":
                    raise problem from error
                await self._drop(live)
                if kind == "lost" and not may_repeat:
                    raise problem from error
        raise problem or ToolServiceError(None, "connect", f"The MCP server {self.config.name!r} cannot be reached")

    async def _connected(self) -> _Live:
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            if self._live is not None and not self._live.has_ended:
                return self._live
            if self._live is not None:
                await self._live.stop()
                self._live = None
            wait = self._next_try - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            _close_at_exit()
            live = _Live(self.config, weakref.WeakMethod(self._tools_changed))
            try:
                await live.start()
            except ToolServiceError:
                self._failures += 1
                self._next_try = time.monotonic() + _BACKOFF[min(self._failures, len(_BACKOFF) - 1)]
                raise
            if self._failures or self._next_try:
                # What it offers may have changed while it was away.
                self._tools_changed()
            self._failures = 0
            self._next_try = time.monotonic()
            self._live = live
            return live

    async def _drop(self, live: _Live) -> None:
        if self._live is live:
            self._live = None
            self._next_try = self._next_try or time.monotonic()
        await live.stop()

    async def _close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            await live.stop()

    def _tools_changed(self) -> None:
        for listener in list(self._listeners):
            listener()

    def _forget_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = None
            self._live = None

    def __deepcopy__(self, memo: dict[int, Any]) -> ServerConnection:
        return self  # one server process serves the copies of an agent

    def __reduce__(self):
        return ServerConnection, (self.config,)


class _Live:
    """One session, entered and left in a task of its own, as anyio wants it."""

    def __init__(self, config: ServerConfig, on_tools_changed: weakref.WeakMethod[Callable[[], None]]) -> None:
        self.config = config
        self.session: Any = None
        self.has_ended = False
        self.is_refused = False
        self._refused = asyncio.Event()
        self._on_tools_changed = on_tools_changed
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def answer(self, request: Callable[[Any], Awaitable[Any]]) -> Any:
        """The answer to a request, or an error as soon as the server takes no more connections.

        Raises:
            ConnectionError: It takes none.
            Exception: As the session raises it.
        """
        asked = asyncio.ensure_future(request(self.session))
        refused = asyncio.ensure_future(self._refused.wait())
        try:
            await asyncio.wait([asked, refused], return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            raise ConnectionError("its address takes no connections")
        finally:
            refused.cancel()
            if not asked.done():
                asked.cancel()
                # The session tells the server of it before it lets go.
                await asyncio.wait([asked], timeout=_CLOSE_SECONDS)

    async def start(self) -> None:
        """Connects.

        Raises:
            ToolServiceError: It cannot be reached in time.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(ready), name=f"mcp-{self.config.name}")
        try:
            async with asyncio.timeout(self.config.connect_timeout):
                await asyncio.shield(ready)
        except TimeoutError as error:
            await self.stop()
            seconds = self.config.connect_timeout
            raise ToolServiceError(
                error, "connect", f"The MCP server {self.config.name!r} did not start within {seconds:g} seconds"
            ) from error
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        def on_message(method: str) -> None:
            if method == "notifications/tools/list_changed":
                changed = self._on_tools_changed()
                if changed is not None:
                    changed()

        def on_end() -> None:
            self.has_ended = True

        def on_refused() -> None:
            self.is_refused = True
            self._refused.set()

        try:
            async with open_session(self.config, on_message, on_end, on_refused) as session:
                self.session = session
                # An attempt over another transport may have ended before this one.
                self.has_ended = self.is_refused = False
                self._refused.clear()
                ready.set_result(None)
                await self._stop.wait()
        except ToolServiceError as error:
            if not ready.done():
                ready.set_exception(error)
        except Exception as error:
            if not ready.done():
                ready.set_exception(ToolServiceError(error, "connect", _told(self.config.name, "connect", error)))
            else:
                logger.debug("The MCP server %s ended with %s", self.config.name, _line(error))
        finally:
            self.has_ended = True
            if not ready.done():
                ready.cancel()

    def ask_to_stop(self) -> None:
        """Lets the session end in its own time."""
        self._stop.set()

    async def stop(self) -> None:
        """Leaves the session; what does not end in time is cancelled."""
        self._stop.set()
        task = self._task
        if task is None or task is asyncio.current_task():
            return
        done, _ = await asyncio.wait([task], timeout=_CLOSE_SECONDS if self.session is not None else 0.1)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=_CLOSE_SECONDS)


def _let_go(held: list[_Live]) -> None:
    """Ends the session of a connection that nobody has any more."""
    for live in held:
        live.loop.call_soon_threadsafe(live.ask_to_stop)


@functools.cache
def _close_at_exit() -> None:
    atexit.register(close_all)


def close_all() -> None:
    """Ends every connection of this process."""
    for connection in list(_open):
        connection.close()


async def _list(method: str, cursor: str | None, session: Any) -> Any:
    list_page = getattr(session, method)
    if cursor is None:
        return await list_page()
    params = importlib.import_module("mcp.types").PaginatedRequestParams(cursor=cursor)
    return await list_page(params=params)


def _kind_of(error: BaseException, live: _Live) -> str:
    """What a failed request means.

    `unsent`: it never reached the server. `lost`: the server went away, whether it did its work is not known.
    `refused`: the server answered that it will not.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    name = type(error).__name__
    words = str(error).lower()
    if (
        live.is_refused
        or name in ("ClosedResourceError", "ConnectError", "ConnectTimeout")
        or "session terminated" in words
    ):
        return "unsent"
    if "session not found" in words or "unknown session" in words:
        return "unsent"
    if live.has_ended or name in ("BrokenResourceError", "EndOfStream", "ReadError", "RemoteProtocolError"):
        return "lost"
    if "connection closed" in words or "connection lost" in words:
        return "lost"
    return "refused"


def _told(server: str, kind: str, error: BaseException) -> str:
    if kind == "lost":
        return f"The MCP server {server!r} went away during the call; it may have done the work or not"
    if kind == "refused":
        return f"The MCP server {server!r} refused the call: {_line(error)}"
    return f"The MCP server {server!r} cannot be reached: {_line(error)}"


def _line(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]
