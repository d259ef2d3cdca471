"""Tools. Each name is imported from its module at first use."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

__all__ = [
    "TOOL_REGISTRY",
    "BaseTool",
    "BaseToolWithFileAccess",
    "Storage",
    "register_tool",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "TOOL_REGISTRY": ".registry",
        "BaseTool": ".base",
        "BaseToolWithFileAccess": ".base",
        "Storage": ".storage",
        "register_tool": ".base",
    },
)
