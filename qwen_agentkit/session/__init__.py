"""Stored conversations: `SessionStore` keeps them in SQLite or PostgreSQL, a `Session` is one of them."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "Fragment": ".session",
    "Session": ".session",
    "SessionInfo": ".session",
    "SessionStore": ".store",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
