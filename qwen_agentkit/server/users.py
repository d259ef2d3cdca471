"""Whose request it is: bearer tokens, and what is asked of requests where there are none."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.session.session import LOCAL_USER

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Tokens:
    """The bearer tokens of a server.

    Only their digests are kept. Every one of them is compared, each in constant time, so that the time an answer
    takes says nothing about any token.

    Args:
        tokens: Token -> user; empty for a server that asks for none.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._users = [(_digest(token), user) for token, user in tokens.items()]

    @property
    def wanted(self) -> bool:
        """Whether requests need a token."""
        return bool(self._users)

    def user(self, authorization: str | None) -> str:
        """Whose request it is.

        Args:
            authorization: The `Authorization` header.

        Raises:
            RequestFailed: 401: there is no token, or none that is known.
        """
        if not self._users:
            return LOCAL_USER
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip() if scheme.lower() == "bearer" else "")
        found = None
        for digest, user in self._users:
            if hmac.compare_digest(digest, given):
                found = user
        if found is None:
            raise RequestFailed(
                401,
                "A known token is wanted: Authorization: Bearer TOKEN",
                "invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_browser(host: str | None, origin: str | None, allowed_hosts: Iterable[str], origins: Iterable[str]) -> None:
    """Refuses what a web page of somebody else sends to a server without tokens.

    Without a token only two things tell the user's own programs from a page in the user's browser: the page's
    `Origin`, and the `Host`, which is the page's own name when it had that name lead to this machine.

    Args:
        host: The `Host` header.
        origin: The `Origin` header; programs send none.
        allowed_hosts: Names besides those of this machine.
        origins: Origins of pages that may call.

    Raises:
        RequestFailed: 403.
    """
    name = _host_name(host)
    if name not in _LOCAL_NAMES and name not in set(allowed_hosts):
        raise RequestFailed(403, f"The server has no name {name!r}; see ServerOptions.allowed_hosts", "wrong_host")
    if origin is not None and origin not in set(origins) and urlsplit(origin).netloc.lower() != (host or "").lower():
        raise RequestFailed(403, f"Pages of {origin} may not call this server; see --cors-origin", "wrong_origin")


def _host_name(host: str | None) -> str:
    try:
        return (urlsplit(f"//{host or ''}").hostname or "").lower()
    except ValueError:
        return ""
