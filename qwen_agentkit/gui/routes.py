"""What the page's server answers besides Gradio, and what it forbids browsers to do.

`PageRoutes` is an ASGI layer in front of Gradio: it serves the sources, pictures and files that have a ticket, adds
the headers that keep a browser from asking any other server for anything, and takes out of Gradio's own HTML what
points to the internet.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from qwen_agentkit.gui.sources import SourceGone, document, page_picture, source_page
from qwen_agentkit.gui.texts import preferred_language, say
from qwen_agentkit.gui.tickets import Tickets

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PATH = re.compile(r"/qak/(?P<kind>source|page|file)/(?P<ticket>[0-9a-f]{64})(?:/[^/]*)?$")
_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1", "testserver"}

# Gradio's scripts are built by Vite and Svelte: inline starters, workers and evaluated templates are its own.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; frame-src 'self'; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
_SOURCE_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
# A file may be HTML or SVG that someone sent: it is shown without any right.
_FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
# Elements of Gradio's own HTML that would fetch from, or connect to, another server.
_OUTSIDE = re.compile(
    r"""<script\b[^>]*\bsrc=["'](?:https?:)?//[^>]*>\s*</script>|<link\b[^>]*\bhref=["'](?:https?:)?//[^>]*>|"""
    r"""<meta\b[^>]*\bcontent=["']https?://[^>]*>""",
    re.IGNORECASE | re.DOTALL,
)
_SHOWN_INLINE = ("image/", "audio/", "video/")


class PageRoutes:
    """The ASGI layer.

    Args:
        app: Gradio's application.
        tickets: What may be fetched.
        lang: The page's language, None for the browser's.
        local_only: Whether requests must name this machine as their host: the page is for this machine alone, and
            another web site must not reach it under a name of its own (DNS rebinding).
    """

    def __init__(self, app: Any, tickets: Tickets, lang: str | None = None, local_only: bool = False) -> None:
        self._app = app
        self._tickets = tickets
        self._lang = lang
        self._local_only = local_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if self._local_only and _host(headers.get("host", "")) not in _LOCAL_HOSTS:
            await _respond(scope, receive, send, b"This page is for this machine only.", "text/plain", status=403)
            return
        match = _PATH.search(scope["path"])
        if match is None:
            await self._app(scope, receive, _GuardedSend(send))
        elif scope["method"] not in ("GET", "HEAD"):
            await _respond(scope, receive, send, b"", "text/plain", status=405)
        else:
            await self._answer(match["kind"], match["ticket"], headers, scope, receive, send)

    async def _answer(
        self, kind: str, ticket: str, headers: dict[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        from starlette.concurrency import run_in_threadpool

        query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        asked = query.get("lang")
        lang = asked if asked in ("en", "zh") else self._lang or preferred_language(headers.get("accept-language"))
        dark = query.get("theme") == "dark"
        held = self._tickets.find(ticket, "file" if kind == "file" else "source")
        page = int(query["page"]) if query.get("page", "").isdecimal() and len(query["page"]) < 8 else None
        try:
            if held is None:
                raise SourceGone(say("expired", lang))
            if kind == "file":
                await _send_file(held, scope, receive, send)
            elif kind == "page":
                data = await run_in_threadpool(page_picture, held["citation"], page)
                await _respond(scope, receive, send, data, "image/png", cache=True)
            else:
                html = await run_in_threadpool(source_page, held["citation"], ticket, lang, dark, page)
                await _respond(scope, receive, send, html.encode(), "text/html; charset=utf-8", _SOURCE_POLICY)
        except SourceGone as gone:
            words = str(gone) if held is None else say("gone", lang, gone)
            html = document(words, f"<main><p>{_plain(words)}</p></main>", lang, dark)
            await _respond(scope, receive, send, html.encode(), "text/html; charset=utf-8", _SOURCE_POLICY, status=404)


def _plain(text: str) -> str:
    from html import escape

    return escape(text)


def _host(header: str) -> str:
    """The host of a `Host` header, without the port and the brackets of an IPv6 address."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


async def _respond(
    scope: Scope,
    receive: Receive,
    send: Send,
    body: bytes,
    media_type: str,
    policy: str = _SOURCE_POLICY,
    *,
    status: int = 200,
    cache: bool = False,
) -> None:
    from starlette.responses import Response

    response = Response(body, status, media_type=media_type)
    response.raw_headers += [
        *_HEADERS,
        (b"content-security-policy", policy.encode()),
        (b"cache-control", b"private, max-age=600" if cache else b"no-store"),
    ]
    await response(scope, receive, send)


async def _send_file(held: dict[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
    from starlette.responses import FileResponse

    path = Path(held["path"])
    if not path.is_file():
        raise SourceGone(path.name)
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    shown = media_type.startswith(_SHOWN_INLINE)
    response = FileResponse(
        path,
        media_type=media_type,
        filename=path.name,
        content_disposition_type="inline" if shown else "attachment",
    )
    response.raw_headers += [*_HEADERS, (b"content-security-policy", _FILE_POLICY.encode())]
    await response(scope, receive, send)


class _GuardedSend:
    """Passes Gradio's response on, with the headers, and its HTML without what points elsewhere."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: MutableMapping[str, Any] | None = None
        self._body = b""

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.lower(), value) for name, value in message.get("headers", [])]
            present = {name for name, _ in headers}
            added = [*_HEADERS, (b"content-security-policy", _POLICY.encode())]
            headers += [(name, value) for name, value in added if name not in present]
            message = {**message, "headers": headers}
            if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
                # Held back until the body is whole; its length changes.
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            body = _OUTSIDE.sub("", self._body.decode("utf-8", "replace")).encode()
            headers = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
            headers.append((b"content-length", str(len(body)).encode()))
            await self._send({**self._start, "headers": headers})
            self._start, message = None, {"type": "http.response.body", "body": body}
        await self._send(message)
