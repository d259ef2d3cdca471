"""Server-sent events of a run: numbered, kept alive, ended by exactly one terminal event.

Source of the format: https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

from starlette.responses import JSONResponse, Response

from qwen_agentkit.server.event_log import Entry
from qwen_agentkit.server.run import ERROR, ServerRun

KEEP_ALIVE = b": keep-alive\n\n"

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Turns an entry into bytes, or into None when this stream leaves it out.
Encoder = Callable[[Entry], bytes | None]


def encode_event(entry: Entry) -> bytes:
    """An entry as one event with its number and type."""
    text = json.dumps({"type": entry.type, **entry.data}, ensure_ascii=False)
    return f"id: {entry.number}\nevent: {entry.type}\ndata: {text}\n\n".encode("utf-8", "replace")


def encode_data(data: Mapping[str, Any]) -> bytes:
    """An event that has data only, as OpenAI's streams have."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


class EventStream(Response):
    """Streams the log of a run to one client.

    A client that does not read is waited for, here only; one that leaves is noticed at once, also while nothing is
    sent.

    Args:
        run: The run.
        encode: The form of each entry.
        after: Number of the last entry that the client has.
        keep_alive_seconds: Silence after which a comment is sent.
        left: Called when the client has left before the end.
        stops_at: Types of entries after which the stream ends, besides the last.
        closing: Sent after the last entry.
        refuses: Whether a run that fails before anything was sent is answered with the status of its error.
        headers: Headers of the response.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        run: ServerRun,
        encode: Encoder,
        *,
        after: int = 0,
        keep_alive_seconds: float = 15.0,
        left: Callable[[ServerRun], object] = lambda run: None,
        stops_at: Iterable[str] = (),
        closing: bytes = b"",
        refuses: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            headers={
                # Proxies are not to gather what is meant to flow.
                "Cache-Control": "no-cache",
                "X-Accel-Buffering": "no",
                "X-Run-Id": run.id,
                **(headers or {}),
            }
        )
        # A response of unknown length.
        del self.headers["content-length"]
        self._run = run
        self._encode = encode
        self._after = after
        self._keep_alive = keep_alive_seconds
        self._left = left
        self._stops_at = frozenset(stops_at)
        self._closing = closing
        self._refuses = refuses
        self._begun = False

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self._run.readers += 1
        sending = asyncio.ensure_future(self._send_all(scope, receive, send))
        leaving = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        except OSError:
            pass  # the connection broke while something was sent: the client has left
        finally:
            whole = sending.done() and not sending.cancelled() and sending.exception() is None
            sending.cancel()
            leaving.cancel()
            self._run.readers -= 1
            if not whole:
                self._left(self._run)

    async def _send_all(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        reader = self._run.log.reader(self._after)
        try:
            if not self._refuses:
                await self._begin(send)
            over = False
            while not over:
                batch = await reader.batch(self._keep_alive)
                pieces, over = self._encoded(batch)
                over = over or reader.at_end
                if over and not pieces and not self._begun and self._run.failure is not None:
                    failure = self._run.failure
                    headers = {**failure.headers, "X-Run-Id": self._run.id}
                    await JSONResponse(failure.to_dict(), failure.status, headers)(scope, receive, send)
                    return
                if over:
                    pieces.append(self._closing)
                elif not batch:
                    pieces.append(KEEP_ALIVE)
                if body := b"".join(pieces):
                    await self._begin(send)
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            await self._begin(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            reader.close()

    async def _begin(self, send: Send) -> None:
        if not self._begun:
            self._begun = True
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

    def _encoded(self, batch: list[Entry]) -> tuple[list[bytes], bool]:
        """What of a batch is sent, and whether the stream ends with it."""
        pieces: list[bytes] = []
        for entry in batch:
            if entry.type == ERROR and self._refuses and not self._begun and not pieces:
                return [], True
            if (piece := self._encode(entry)) is not None:
                pieces.append(piece)
            if entry.type in self._stops_at:
                return pieces, True
        return pieces, False


class WhenEnded(Response):
    """Answers when a run has ended; a client that leaves before is noticed.

    Args:
        run: The run.
        body: Gives status and content of the answer.
        left: Called when the client has left before the end.
        stops_at: Types of entries that are an end, too.
    """

    def __init__(
        self,
        run: ServerRun,
        body: Callable[[ServerRun], tuple[int, dict[str, Any]]],
        left: Callable[[ServerRun], object] = lambda run: None,
        stops_at: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self._run = run
        self._body = body
        self._left = left
        self._stops_at = frozenset(stops_at)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self._run.readers += 1
        waiting = asyncio.ensure_future(self._wait())
        leaving = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            whole = waiting.done()
            waiting.cancel()
            leaving.cancel()
            self._run.readers -= 1
            if not whole:
                self._left(self._run)
        if whole:
            status, content = self._body(self._run)
            failure = self._run.failure
            headers = {**(failure.headers if failure is not None and status >= 400 else {}), "X-Run-Id": self._run.id}
            await JSONResponse(content, status, headers)(scope, receive, send)

    async def _wait(self) -> None:
        reader = self._run.log.reader()
        try:
            while not reader.at_end:
                if any(entry.type in self._stops_at for entry in await reader.batch(3600.0)):
                    return
        finally:
            reader.close()


async def disconnected(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
