"""From an item of a `function_list` to tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.registry import TOOL_REGISTRY


def make_tools(item: str | dict | BaseTool | Callable | Any) -> list[BaseTool]:
    """The tools that one item of a `function_list` stands for.

    Args:
        item: A registered name; a dict with `name` and the tool's settings; a dict with `mcpServers`; a
            `BaseTool`; an agent; a plain function, which becomes a tool by its annotations and docstring.

    Raises:
        ValueError: No tool of that name is registered, or the item is none of these.
    """
    if isinstance(item, BaseTool):
        return [item]
    if isinstance(item, dict) and "mcpServers" in item:
        from qwen_agentkit.tools.mcp import MCPManager

        return list(MCPManager().initConfig(item))
    if isinstance(item, dict):
        name, settings = item.get("name"), item
    elif isinstance(item, str):
        name, settings = item, None
    elif isinstance(item, type) and issubclass(item, BaseTool):
        return [item()]
    elif hasattr(item, "as_tool"):
        return [item.as_tool()]
    elif callable(item):
        from qwen_agentkit.tools.function_tool import tool

        return [tool(item)]
    else:
        raise ValueError(
            f"function_list holds tool names, dicts with 'name' or 'mcpServers', BaseTool objects and functions, "
            f"not {item!r}"
        )
    if not isinstance(name, str) or name not in TOOL_REGISTRY:
        raise ValueError(f"Tool {name!r} is not registered. Registered are: {', '.join(sorted(TOOL_REGISTRY))}")
    return [TOOL_REGISTRY[name](settings)]
