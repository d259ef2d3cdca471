"""The one way in which the package fetches addresses that a model, a document or a user names.

Every request, and every redirect anew, is checked (`utils/addresses.py`) and then sent to the very address that
was checked, so a name that changes its address in between gains nothing. Size (after decompression) and time
are bounded. Proxies of the environment are not used: behind one nothing could be checked.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import http.client
import json
import os
import re
import selectors
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import SplitResult, urlencode, urljoin

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.utils.addresses import address_text, parse_address, resolve

MAX_REDIRECTS = 5
_READ_BYTES = 64 * 1024
# Headers that belong to one host and are not carried to another by a redirect.
_PRIVATE_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", "api-key"})
_CONNECTING = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


class Cancel(Protocol):
    """What `fetch` needs of a cancel token."""

    def on_cancel(self, callback: Callable[[], Any]) -> Callable[[], None]: ...

    def raise_if_cancelled(self) -> None: ...


@dataclass(frozen=True)
class Response:
    """What came back.

    Args:
        url: The address after all redirects.
        status: HTTP status.
        headers: Names in lower case.
        body: The content, decompressed.
    """

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; empty when the server named none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text, in the charset that the header, the page, or else UTF-8 says."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        charset = named[1] if named else None
        if charset is None:
            meta = _META_CHARSET.search(self.body[:4096])
            charset = meta[1].decode("ascii") if meta else "utf-8"
        try:
            return self.body.decode(charset, "replace")
        except (LookupError, UnicodeError):  # unknown, or no encoding of pages (idna, undefined)
            return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body read as JSON.

        Raises:
            ToolServiceError: It is none.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise ToolServiceError(error, "bad_reply", f"{self.url} did not answer with JSON: {error}") from None

    def raise_for_status(self) -> Response:
        """The response itself when its status is below 400.

        Raises:
            ToolServiceError: It is not; `code` is the status, the text has the start of the body.
        """
        if self.status < 400:
            return self
        said = " ".join(self.text.split())[:300] if self.content_type in ("", "text/plain", "application/json") else ""
        reason = http.client.responses.get(self.status, "")
        message = f"{self.url} answered {self.status} {reason}".rstrip() + (f": {said}" if said else "")
        raise ToolServiceError(None, str(self.status), message)


def fetch(
    url: str,
    *,
    method: str = "GET",
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    json_body: Any = None,
    body: bytes | None = None,
    max_bytes: int | None = None,
    seconds: float | None = None,
    allow_private: bool = False,
    cancel: Cancel | None = None,
) -> Response:
    """Sends a request and reads the whole answer.

    Args:
        url: http or https.
        method: `GET`, `HEAD`, `POST`, ...
        params: Added to the query.
        headers: Sent along; those with credentials are not carried to another host by a redirect.
        json_body: Sent as JSON.
        body: Sent as it is.
        max_bytes: Bound of the answer's size, decompressed; None is `settings.WEB_MAX_BYTES`.
        seconds: Bound of the whole time, redirects included; None is `settings.WEB_TIMEOUT`.
        allow_private: The address is the program's own setting, not a model's, so its host may be private. A
            redirect to another host is checked all the same.
        cancel: A cancel token; when it is set, the connection is shut down at once.

    Returns:
        The answer, whatever its status.

    Raises:
        ValueError: `url` is no http(s) address.
        ToolServiceError: `code` says why: `address_not_allowed`, `dns`, `connect`, `timeout`, `too_large`,
            `redirects`, `bad_reply`.
        RunCancelled: `cancel` was set.
    """
    parts = parse_address(url)
    if params:
        query = urlencode({key: value for key, value in params.items() if value is not None}, doseq=True)
        parts = parts._replace(query=f"{parts.query}&{query}" if parts.query else query)
    sent = {"User-Agent": _user_agent(), "Accept": "*/*", "Accept-Encoding": "gzip, deflate", **(headers or {})}
    if json_body is not None:
        body = json.dumps(json_body, ensure_ascii=False).encode()
        sent.setdefault("Content-Type", "application/json")
    limit = settings.WEB_MAX_BYTES if max_bytes is None else max_bytes
    request = _Request(limit, time.monotonic() + (settings.WEB_TIMEOUT if seconds is None else seconds), cancel)
    first_host = parts.hostname
    for _ in range(MAX_REDIRECTS + 1):
        trusted = allow_private and parts.hostname == first_host
        response = request.send(parts, method, sent, body, trusted)
        location = response.headers.get("location")
        if response.status not in (301, 302, 303, 307, 308) or not location:
            return response
        following = parse_address(urljoin(response.url, location))
        if (following.hostname, following.scheme) != (parts.hostname, parts.scheme):
            sent = {key: value for key, value in sent.items() if key.lower() not in _PRIVATE_HEADERS}
        if response.status == 303 or (response.status in (301, 302) and method == "POST"):
            method, body = "HEAD" if method == "HEAD" else "GET", None
            sent = {key: value for key, value in sent.items() if key.lower() != "content-type"}
        parts = following
    raise ToolServiceError(None, "redirects", f"{url} redirects more than {MAX_REDIRECTS} times")


class _Request:
    """Bounds that hold over all redirects of one fetch."""

    def __init__(self, max_bytes: int, deadline: float, cancel: Cancel | None) -> None:
        self.max_bytes = max_bytes
        self.deadline = deadline
        self.cancel = cancel

    def send(
        self, parts: SplitResult, method: str, headers: Mapping[str, str], body: bytes | None, trusted: bool
    ) -> Response:
        url = address_text(parts)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = resolve(host, port, allow_private=trusted, seconds=self.left(url))
        connection = _Connection(host, port, addresses, parts.scheme == "https", self.left(url))
        watch = threading.Timer(self.left(url), connection.shut_down)
        watch.daemon = True
        forget = self.cancel.on_cancel(connection.shut_down) if self.cancel is not None else _nothing
        watch.start()
        try:
            connection.request(method, _target(parts), body=body, headers={"Host": parts.netloc, **headers})
            reply = connection.getresponse()
            held = {name.lower(): value for name, value in reply.getheaders()}
            content = b"" if method == "HEAD" else self._read(reply, held, url)
            return Response(url, reply.status, held, content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._explained(error, url, connection) from error
        finally:
            forget()
            watch.cancel()
            connection.close()

    def left(self, url: str) -> float:
        """Seconds left.

        Raises:
            ToolServiceError: None are.
        """
        if self.cancel is not None:
            self.cancel.raise_if_cancelled()
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ToolServiceError(None, "timeout", f"{url} did not answer in time")
        return left

    def _read(self, reply: http.client.HTTPResponse, headers: Mapping[str, str], url: str) -> bytes:
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.max_bytes:
            raise self._too_large(url)
        unpacker = _Unpacker(headers.get("content-encoding", ""), self.max_bytes)
        content = bytearray()
        while True:
            raw = reply.read1(_READ_BYTES)
            if not raw:
                break
            content += unpacker.unpack(raw, len(content))
            if len(content) > self.max_bytes:
                raise self._too_large(url)
            self.left(url)
        # http.client takes a connection that was shut down in the middle for the end of the body.
        self.left(url)
        if reply.length:
            raise ToolServiceError(None, "bad_reply", f"{url} ended {reply.length} bytes early")
        if not unpacker.is_whole:
            raise ToolServiceError(None, "bad_reply", f"{url} broke off its answer within what is packed")
        return bytes(content)

    def _too_large(self, url: str) -> ToolServiceError:
        return ToolServiceError(None, "too_large", f"{url} is larger than {self.max_bytes} bytes and was not read")

    def _explained(self, error: Exception, url: str, connection: _Connection) -> Exception:
        if self.cancel is not None:
            self.cancel.raise_if_cancelled()
        if isinstance(error, TimeoutError) or time.monotonic() >= self.deadline:
            return ToolServiceError(error, "timeout", f"{url} did not answer in time")
        if isinstance(error, ssl.SSLError):
            return ToolServiceError(error, "connect", f"{url} has no valid certificate or speaks no TLS ({error})")
        if connection.sock is None and isinstance(error, OSError):
            return ToolServiceError(error, "connect", f"{url} cannot be reached ({error})")
        return ToolServiceError(error, "bad_reply", f"{url} broke off its answer ({type(error).__name__}: {error})")


class _Connection(http.client.HTTPConnection):
    """A connection to one of the addresses that were checked, whatever the name means by now."""

    def __init__(self, host: str, port: int, addresses: list[tuple[int, str]], tls: bool, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._addresses = addresses
        self._tls = tls
        self._is_shut = False

    def connect(self) -> None:
        until = time.monotonic() + (self.timeout or 0)
        failure: OSError = OSError("no address")
        for family, address in self._addresses:
            raw = socket.socket(family, socket.SOCK_STREAM)
            try:
                self._reach(raw, (address, self.port), until)
                raw.settimeout(max(0.01, until - time.monotonic()))
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sock = raw
                if self._tls:
                    self.sock = _tls_context().wrap_socket(raw, server_hostname=self.host)
                return
            except OSError as error:
                failure = error
                self.sock = None
                raw.close()
        raise failure

    def _reach(self, raw: socket.socket, place: tuple[str, int], until: float) -> None:
        """Connects, looking up now and then: a socket that is still connecting cannot be shut down."""
        raw.setblocking(False)
        code = raw.connect_ex(place)
        with selectors.DefaultSelector() as selector:
            selector.register(raw, selectors.EVENT_WRITE)
            while code in _CONNECTING:
                if self._is_shut or time.monotonic() >= until:
                    raise TimeoutError("not connected in time")
                if selector.select(min(0.2, max(0.0, until - time.monotonic()))):
                    code = raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def shut_down(self) -> None:
        """Ends whatever the connection waits for, from another thread."""
        self._is_shut = True
        held = self.sock
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)


def _target(parts: SplitResult) -> str:
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _nothing() -> None:
    """In place of taking a callback off a token that is not there."""


class _Unpacker:
    """Unpacks a body piece by piece.

    Args:
        encoding: The Content-Encoding.
        max_bytes: No piece is unpacked to more than one byte over this bound of the whole.

    Raises:
        ToolServiceError: The encoding was not asked for.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._kind = encoding.strip().lower()
        self._max_bytes = max_bytes
        self._member: Any = None
        if self._kind not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolServiceError(None, "bad_reply", f"The answer is packed as {encoding!r}, which was not asked for")

    @property
    def is_whole(self) -> bool:
        """Whether what was packed has come to its end."""
        return self._member is None or self._member.eof

    def unpack(self, raw: bytes, held: int) -> bytes:
        """The next piece, unpacked.

        Args:
            raw: As it came.
            held: Bytes that were unpacked before.
        """
        if self._kind in ("", "identity"):
            return raw
        content = b""
        while raw and held + len(content) <= self._max_bytes:
            if self._member is None:
                # 47: zlib or gzip, found by itself. Some servers send bare deflate (-15), told by the first byte only.
                bare = self._kind == "deflate" and (raw[0] & 0x0F) != 8
                self._member = zlib.decompressobj(-zlib.MAX_WBITS if bare else 47)
            elif self._member.eof:
                if raw[0] != 0x1F:
                    break  # padding
                self._member = zlib.decompressobj(47)  # gzip may consist of several members (RFC 1952, 2.2)
            try:
                content += self._member.decompress(raw, self._max_bytes + 1 - held - len(content))
            except zlib.error as error:
                raise ToolServiceError(error, "bad_reply", f"The answer cannot be unpacked ({error})") from None
            raw = self._member.unused_data
        return content


@functools.lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _user_agent() -> str:
    from qwen_agentkit.version import __version__

    return f"qwen-agentkit/{__version__}"
