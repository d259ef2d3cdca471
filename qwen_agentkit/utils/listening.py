"""A socket bound to an address, or an error that says which address it was."""

from __future__ import annotations

import socket

_HIGHEST_PORT = 65_535


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address of this machine; nobody listens at it yet.

    Args:
        host: Name or IP address; one of IPv6 with brackets or without.
        port: 0 takes a free one.

    Raises:
        ValueError: There is no such port.
        OSError: The address is in use, or none of this machine's.
    """
    if not 0 <= port <= _HIGHEST_PORT:
        raise ValueError(f"A port is a number from 0 to {_HIGHEST_PORT}, not {port!r}")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host.strip("[]"), port))
    except OSError as error:
        bound.close()
        where = f"{host} port {port}" if port else host
        raise OSError(error.errno, f"Nothing can be served at {where}: {error.strerror}") from error
    return bound
