"""What agents remember: documents (`Memory`), users and past conversations (`LongTermMemory`)."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "Fact": ".facts",
    "IndexMemory": ".index_memory",
    "LongTermMemory": ".long_term",
    "Memory": ".memory",
    "Recollection": ".long_term",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
