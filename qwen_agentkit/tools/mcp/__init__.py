"""MCP servers as tools: each server is a workbench, its tools are named `<server>-<tool>`."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {"MCPManager": ".manager", "MCPTool": ".tool", "MCPWorkbench": ".workbench", "ServerConfig": ".config"}

__all__ = list(_WHERE)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
