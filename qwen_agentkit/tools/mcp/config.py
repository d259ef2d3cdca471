"""The `mcpServers` part of a configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STDIO = "stdio"
SSE = "sse"
STREAMABLE_HTTP = "streamable-http"
AUTO = "auto"

_TYPES = {
    "stdio": STDIO,
    "sse": SSE,
    "streamable-http": STREAMABLE_HTTP,
    "streamable_http": STREAMABLE_HTTP,
    "streamablehttp": STREAMABLE_HTTP,
    "http": STREAMABLE_HTTP,
    "auto": AUTO,
}


@dataclass(frozen=True)
class ServerConfig:
    """How to reach one server.

    Args:
        name: Its name; tools are called `<name>-<tool>`.
        type: `stdio`, `sse`, `streamable-http`, or `auto` for an address whose kind is found by itself.
        command: Program of a stdio server.
        args: Its arguments.
        env: Added to its environment.
        cwd: Folder that it runs in.
        url: Address of an HTTP server.
        headers: Sent with every request.
        connect_timeout: Seconds for starting or reaching it and for the handshake.
        timeout: Seconds for one call; None is the tool's own.
        sse_read_timeout: Seconds of silence after which a stream counts as broken.
        only: Tools of the server that are offered; None is all.
    """

    name: str
    type: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_timeout: float = 30.0
    timeout: float | None = None
    sse_read_timeout: float = 300.0
    only: tuple[str, ...] | None = None


def read_servers(config: Mapping[str, Any]) -> list[ServerConfig]:
    """The servers of a configuration `{"mcpServers": {name: {...}}}`.

    Raises:
        ValueError: It is none; the text says which server and what is wrong.
    """
    servers = config.get("mcpServers") if isinstance(config, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError(f"MCP servers are given as {{'mcpServers': {{name: settings}}}}, not {config!r}")
    return [_read_server(name, server) for name, server in servers.items()]


def _read_server(name: Any, server: Any) -> ServerConfig:
    place = f"mcpServers[{name!r}]"
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{place}: a server has a name")
    if not isinstance(server, Mapping):
        raise ValueError(f"{place} is a dict with 'command' or 'url', not {server!r}")
    command, url = server.get("command"), server.get("url")
    if (command is None) == (url is None):
        raise ValueError(f"{place} has either 'command' or 'url'; it has {', '.join(map(repr, server)) or 'nothing'}")
    given = server.get("type", server.get("transport", STDIO if command is not None else AUTO))
    kind = _TYPES.get(str(given).lower())
    if kind is None or (kind == STDIO) != (command is not None):
        raise ValueError(
            f"{place}: type is stdio with a command; sse, streamable-http or auto with a url; not {given!r}"
        )
    if command is not None and not isinstance(command, str):
        raise ValueError(f"{place}: command is text, not {command!r}")
    if url is not None and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise ValueError(f"{place}: url begins with http:// or https://, not {url!r}")
    args = server.get("args", [])
    if not isinstance(args, (list, tuple)):
        raise ValueError(f"{place}: args is a list, not {args!r}")
    only = server.get("tools", server.get("only"))
    if only is not None and not isinstance(only, (list, tuple)):
        raise ValueError(f"{place}: tools is a list of names, not {only!r}")
    return ServerConfig(
        name=name.strip(),
        type=kind,
        command=command,
        args=tuple(str(arg) for arg in args),
        env=_texts(place, server, "env"),
        cwd=server.get("cwd"),
        url=url,
        headers=_texts(place, server, "headers"),
        connect_timeout=_seconds(place, server, "connect_timeout", 30.0),
        timeout=_seconds(place, server, "timeout", None),
        sse_read_timeout=_seconds(place, server, "sse_read_timeout", 300.0),
        only=tuple(only) if only is not None else None,
    )


def _texts(place: str, server: Mapping[str, Any], key: str) -> dict[str, str]:
    value = server.get(key) or {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: {key} is a dict of texts, not {value!r}")
    return {str(name): str(text) for name, text in value.items()}


def _seconds(place: str, server: Mapping[str, Any], key: str, default: Any) -> Any:
    value = server.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ValueError(f"{place}: {key} is a number of seconds above 0, not {value!r}")
    return float(value)
