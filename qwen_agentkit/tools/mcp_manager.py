"""`MCPManager` under the path that Qwen-Agent programs import it from."""

from qwen_agentkit.tools.mcp.manager import MCPManager

__all__ = ["MCPManager"]
