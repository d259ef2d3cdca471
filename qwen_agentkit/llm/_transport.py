"""How a model reaches its service: the connection's settings, the pooled client, and stopping a blocked read."""

from __future__ import annotations

import contextlib
import contextvars
import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from qwen_agentkit.errors import RunCancelled
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run

T = TypeVar("T")

# Seconds. A wrong host is found within the first; the second bounds the silence between two pieces of an answer.
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0


@dataclass(frozen=True)
class Connection:
    """The settings of one model's connection, from its configuration.

    Args:
        address: Base address of the service; None is the SDK's own.
        api_key: Key of the service.
        proxy: Address of a proxy; False uses none; None follows the environment (never for this machine itself).
        ca_file: File with the certificates to trust; False trusts any certificate.
        connect_timeout: Seconds to find and reach the host.
        timeout: Seconds between two pieces of an answer.
        headers: Further headers of each request.
        http_client: An HTTP client of the user's own: `httpx.Client` for OpenAI's SDK, `requests.Session` for
            DashScope's. It is used as it is, and never closed.
    """

    address: str | None = None
    api_key: str | None = None
    proxy: str | bool | None = None
    ca_file: str | bool | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    timeout: float = READ_TIMEOUT
    headers: Mapping[str, str] = field(default_factory=dict)
    http_client: Any = None

    @classmethod
    def from_cfg(cls, cfg: Mapping[str, Any], address: str | None, api_key: str | None) -> Connection:
        """Reads `proxy`, `ca_file`, `connect_timeout`, `timeout`, `headers` and `http_client` of a configuration.

        Raises:
            ValueError: A value cannot be meant.
        """
        if address is not None and not address.startswith(("http://", "https://")):
            raise ValueError(f"The address of a model begins with http:// or https://, not {address!r}")
        given = {
            key: cfg[key]
            for key in ("proxy", "ca_file", "connect_timeout", "timeout", "headers", "http_client")
            if cfg.get(key) is not None
        }
        for key in ("connect_timeout", "timeout"):
            value = given.get(key, 1)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
                raise ValueError(f"{key!r} is seconds, more than 0, not {value!r}")
        ca_file = given.get("ca_file")
        if isinstance(ca_file, str) and not os.path.isfile(ca_file):
            raise ValueError(f"The CA file {ca_file!r} does not exist")
        return cls(address=address, api_key=api_key, **given)

    @property
    def trusts_environment(self) -> bool:
        """Whether proxies named by the environment are used."""
        return self.proxy is None and not is_loopback(self.address)


def is_loopback(address: str | None) -> bool:
    """Whether an address names this machine."""
    host = urlsplit(address or "").hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    return ip.is_loopback or ip.is_unspecified


def after_fork(reset: Callable[[], None]) -> None:
    """Has `reset()` called in every forked child, where another thread of the parent may have held a lock."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)


class Pool(Generic[T]):
    """One live client, made at first use, shared by threads, made anew after a fork, never copied nor pickled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: T | None = None
        self._pid = 0

    def get(self, make: Callable[[], T]) -> T:
        """The client; `make()` when there is none in this process."""
        if self._pid != os.getpid():
            # Connections and locks of the parent process are its own.
            self._lock = threading.Lock()
            self._client = None
            self._pid = os.getpid()
        with self._lock:
            if self._client is None:
                self._client = make()
            return self._client

    def __deepcopy__(self, memo: dict[int, Any]) -> Pool[T]:
        return type(self)()

    def __reduce__(self):
        return type(self), ()


class SharedPool(Pool[T]):
    """A pool that copies share: for weights of a model in this process, which nobody wants twice."""

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedPool[T]:
        return self


def openai_http_client(connection: Connection) -> Any:
    """The HTTP client for OpenAI's SDK that follows the connection's settings."""
    import openai

    if connection.http_client is not None:
        return connection.http_client
    options: dict[str, Any] = {
        "timeout": openai.Timeout(connection.timeout, connect=connection.connect_timeout),
        "trust_env": connection.trusts_environment,
    }
    if isinstance(connection.proxy, str):
        options["proxy"] = connection.proxy
    if connection.ca_file is False:
        options["verify"] = False
    elif isinstance(connection.ca_file, str):
        import ssl

        options["verify"] = ssl.create_default_context(cafile=connection.ca_file)
    return openai.DefaultHttpxClient(**options)


def requests_session(connection: Connection) -> Any:
    """The HTTP session for DashScope's SDK that follows the connection's settings."""
    import requests

    if connection.http_client is not None:
        return connection.http_client
    session = requests.Session()
    session.trust_env = connection.trusts_environment
    if isinstance(connection.proxy, str):
        session.proxies = {"http": connection.proxy, "https": connection.proxy}
    if connection.ca_file is not None:
        session.verify = connection.ca_file
    return session


def run_interruptibly(call: Callable[[], T], discard: Callable[[T], object] = lambda late: None) -> T:
    """Runs a blocking call so that the run's cancel token ends the wait for it at once.

    Outside of a run the call is made in this thread. In a run it is made in a daemon thread, which is abandoned
    when the run is cancelled.

    Args:
        call: What may block.
        discard: Called with a result that came too late.

    Raises:
        RunCancelled: The run was cancelled.
    """
    run = current_run()
    if run is None:
        return call()
    run.cancel.raise_if_cancelled()
    ended = threading.Event()
    lock = threading.Lock()
    outcome: dict[str, Any] = {}
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result: Any = context.run(call)
        except BaseException as error:
            with lock:
                outcome["error"] = error
        else:
            with lock:
                late = "abandoned" in outcome
                if not late:
                    outcome["result"] = result
            if late:
                discard(result)
        ended.set()

    def abandon() -> None:
        with lock:
            outcome["abandoned"] = True
            arrived = "result" in outcome
            late: Any = outcome.pop("result", None)
        if arrived:
            discard(late)

    unregister = run.cancel.on_cancel(ended.set)
    try:
        threading.Thread(target=work, daemon=True, name="qwen-agentkit-request").start()
        ended.wait()
    except BaseException:  # Ctrl-C, say
        abandon()
        raise
    finally:
        unregister()
    if run.cancel.cancelled:
        abandon()
        raise RunCancelled(run.cancel.reason or "cancelled")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


@contextlib.contextmanager
def shut_on_cancel(response: Any) -> Iterator[None]:
    """While inside, cancelling the run shuts the socket of `response` (of httpx or requests) down.

    Raises:
        RunCancelled: The run was cancelled, whatever error the broken read gave.
    """
    run = current_run()
    if run is None:
        yield
        return
    unregister = run.cancel.on_cancel(lambda: shut_down(response))
    try:
        yield
    except GeneratorExit:
        raise
    except Exception as error:
        if run.cancel.cancelled:
            raise RunCancelled(run.cancel.reason or "cancelled") from error
        raise
    finally:
        unregister()
    run.cancel.raise_if_cancelled()


def shut_down(response: Any) -> bool:
    """Shuts the socket under a response down, so that a read blocked in another thread returns.

    Returns:
        Whether the socket was found.
    """
    sock = socket_of(response)
    if sock is None:
        logger.debug("No socket found under %r; the request goes on unseen until it ends", response)
        return False
    try:
        # By the plain class: an SSLSocket's own method would drop the TLS state under the reading thread.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return True  # it is closed already
    return True


def socket_of(response: Any) -> socket.socket | None:
    """The socket that an httpx or requests response is read from, None where it cannot be reached."""
    extensions = getattr(response, "extensions", None)
    if isinstance(extensions, dict):  # httpx: a documented extension
        stream = extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        return sock if isinstance(sock, socket.socket) else None
    raw = getattr(response, "raw", None)  # requests: a urllib3 response
    connection = getattr(raw, "connection", None) or getattr(raw, "_connection", None)
    sock = getattr(connection, "sock", None)
    if isinstance(sock, socket.socket):
        return sock
    # Without keep-alive http.client has given the socket up to the response's file.
    reader = getattr(getattr(getattr(raw, "_fp", None), "fp", None), "raw", None)
    sock = getattr(reader, "_sock", None)
    return sock if isinstance(sock, socket.socket) else None


def arrived_probe(response: Any) -> Callable[[], bool]:
    """A function that says whether the next piece of an httpx response has arrived already.

    Servers send each event as an HTTP chunk of its own, and httpx hands each over separately though many may have
    come by one read from the socket. What has come can be merged; but only the HTTP state machine under httpx (h11)
    knows. It is reached through private names, so where it is not found the answer is always False, and nothing is
    merged.
    """
    if response.headers.get("content-encoding"):
        return lambda: False  # a piece that has come may decode to nothing yet
    holder = getattr(response, "stream", None)
    for _ in range(8):
        state = getattr(holder, "_h11_state", None)
        if state is not None and hasattr(state, "trailing_data"):
            return lambda: _holds_data(state.trailing_data[0])
        holder = next(
            (
                getattr(holder, name)
                for name in ("_stream", "_httpcore_stream", "_connection")
                if getattr(holder, name, None) is not None
            ),
            None,
        )
    return lambda: False


def _holds_data(unread: bytes) -> bool:
    """Whether unread bytes of a chunked body hold at least one byte of the next chunk's data."""
    size_ends = unread.find(b"\r\n", 2 if unread.startswith(b"\r\n") else 0)
    return size_ends >= 0 and len(unread) > size_ends + 2
