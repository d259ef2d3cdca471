"""Agents over HTTP (extra `server`): `create_app(agents)` for any ASGI server, `serve(agents)` to run one."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "ServerOptions": ".options",
    "create_app": ".entry",
    "serve": ".entry",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
