"""`TOOL_REGISTRY`: every tool by name. Built-in tools are listed from the start and imported when used."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import LazyRegistry

_HERE = "qwen_agentkit.tools"

TOOL_REGISTRY = LazyRegistry(
    {
        "storage": f"{_HERE}.storage:Storage",
    }
)
