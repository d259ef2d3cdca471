"""Who is at the page, and in which language."""

from __future__ import annotations

import ipaddress
import re
import secrets
from typing import Any

from qwen_agentkit.gui.texts import preferred_language
from qwen_agentkit.session.session import LOCAL_USER

_BROWSER_ID = re.compile(r"[0-9a-f]{32}")
# What a proxy adds: the one who asks is not at this machine.
_FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip")


def new_browser_id() -> str:
    """An id for a browser without a login; nobody can guess it, so it is the key to its conversations."""
    return secrets.token_hex(16)


def user_of(request: Any, browser_id: str, shared: bool) -> str:
    """Whose conversations a request may see.

    Args:
        request: Gradio's request.
        browser_id: What the browser keeps.
        shared: Whether others than the people at this machine can reach the page.

    Returns:
        The name that was logged in with; `local` at this machine; else one for each browser.
    """
    name = getattr(request, "username", None)
    if name:
        return f"web:{name}"
    headers = request.headers
    host = getattr(getattr(request, "client", None), "host", None) or ""
    if not shared and is_loopback(host) and not any(header in headers for header in _FORWARDED):
        return LOCAL_USER
    return f"browser:{browser_id if _BROWSER_ID.fullmatch(browser_id or '') else new_browser_id()}"


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own."""
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def language_of(request: Any, chosen: str | None) -> str:
    """The language to show: the configured one, else the browser's."""
    return chosen or preferred_language(request.headers.get("accept-language"))
