"""What agents remember: documents (`Memory`)."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {"Memory": ".memory"}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
