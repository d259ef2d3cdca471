"""Which addresses of the network may be reached: the wall in front of `utils/web.py`.

What a model, a document or a web page names may lead to the machine's own services, to the local network, or to
the metadata service of a cloud, which hands out keys. Only public addresses are allowed, unless
`settings.WEB_ALLOWED_HOSTS` names the host, address or network.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolServiceError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Public by its number, yet it is Azure's metadata and control channel inside a virtual machine.
_AZURE_WIRE_SERVER = ipaddress.ip_address("168.63.129.16")
# IPv6 forms that carry an IPv4 address: the packet ends at that address.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.ip_network("::/96")
# What may stand in a path or query as it is; "%" because what is encoded already stays so.
_SAFE = "/%:@!$&'()*+,;=-._~?[]"


def parse_address(url: str) -> SplitResult:
    """An http(s) address taken apart, its path and host fit for a request (non-ASCII encoded).

    Raises:
        ValueError: It is none; the text says why.
    """
    if not isinstance(url, str):
        raise ValueError(f"An address is text, not {type(url).__name__}")
    text = url.strip()
    shown = text if len(text) <= 200 else text[:200] + "…"
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError(f"An address has no control characters: {shown!r}")
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname or ""
    except ValueError as error:
        raise ValueError(f"{shown!r} is not an address: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"An address begins with http:// or https://, not {shown!r}")
    if not host:
        raise ValueError(f"{shown!r} names no host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("An address with a user name or password in it is not fetched")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"{shown!r} names no possible host: {error}") from None
    shown_host = f"[{host}]" if ":" in host else host
    netloc = shown_host if port is None else f"{shown_host}:{port}"
    return SplitResult(
        parts.scheme, netloc, quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE + "#"), ""
    )


def address_text(parts: SplitResult) -> str:
    """The address as text again."""
    return urlunsplit(parts)


def resolve(host: str, port: int, *, allow_private: bool = False, seconds: float = 30.0) -> list[tuple[int, str]]:
    """The addresses of a host, all of them allowed.

    Args:
        host: Name or address, without brackets.
        port: The port that is going to be used.
        allow_private: The address comes from the program's own settings, so it may be private.
        seconds: Bound of the time.

    Returns:
        (family, address) pairs, in the order in which the system prefers them.

    Raises:
        ToolServiceError: The name is unknown (`code="dns"`), or one of its addresses is not allowed
            (`code="address_not_allowed"`).
    """
    found = _look_up(host, port, seconds)
    pairs: list[tuple[int, str]] = []
    for family, _, _, _, place in found:
        address = str(place[0])
        if family in (socket.AF_INET, socket.AF_INET6) and (family, address) not in pairs:
            pairs.append((int(family), address))
    if not pairs:
        raise ToolServiceError(None, "dns", f"The host {host} has no address")
    if not allow_private:
        for _, address in pairs:
            _refuse_unless_allowed(host, address)
    return pairs


def _look_up(host: str, port: int, seconds: float) -> list[Any]:
    """`getaddrinfo`, which knows no bound of time, in a thread that is given up when the time is over."""
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    try:
        ipaddress.ip_address(host)
        ask()  # nothing to wait for
    except ValueError:
        threading.Thread(target=ask, name="qwen-agentkit-dns", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise ToolServiceError(None, "timeout", f"The name of the host {host} was not found in time") from None
    if isinstance(answer, Exception):
        raise ToolServiceError(answer, "dns", f"The host {host} cannot be found ({answer})")
    return answer


def _refuse_unless_allowed(host: str, address: str) -> None:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if is_public(ip) or _is_listed(host, ip, settings.WEB_ALLOWED_HOSTS):
        return
    raise ToolServiceError(
        None,
        "address_not_allowed",
        f"{host} ({ip}) is not a public address and may not be reached. A developer can allow it: "
        "settings.WEB_ALLOWED_HOSTS.",
    )


def is_public(ip: IPAddress) -> bool:
    """Whether an address is an ordinary one of the internet, whatever form it is written in."""
    inner = _carried(ip)
    if inner is not None:
        return is_public(inner)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and ip != _AZURE_WIRE_SERVER


def _carried(ip: IPAddress) -> IPAddress | None:
    """The IPv4 address inside an IPv6 one, if there is one."""
    if not isinstance(ip, ipaddress.IPv6Address):
        return None
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip.teredo is not None:
        return ip.teredo[1]
    if ip in _NAT64 or ip in _NAT64_LOCAL or (ip in _COMPATIBLE and int(ip) > 0xFFFF):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return None


def _is_listed(host: str, ip: IPAddress, allowed: Sequence[str]) -> bool:
    for item in allowed:
        if item.lower().rstrip(".") == host.lower().rstrip("."):
            return True
        try:
            network = ipaddress.ip_network(item, strict=False)
        except ValueError:
            continue  # a host name
        if ip in network or (_carried(ip) is not None and _carried(ip) in network):
            return True
    return False
