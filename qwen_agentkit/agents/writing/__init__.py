"""Agents that each do one step of writing an article, by one prompt."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "ContinueWriting": ".continue_writing",
    "ExpandWriting": ".expand_writing",
    "OutlineWriting": ".outline_writing",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
