"""`TOOL_REGISTRY`: every tool by name. Built-in tools are listed from the start and imported when used."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import LazyRegistry

_HERE = "qwen_agentkit.tools"

TOOL_REGISTRY = LazyRegistry(
    {
        "calculator": f"{_HERE}.calculator:Calculator",
        "front_page_search": f"{_HERE}.search_tools.front_page_search:FrontPageSearch",
        "hybrid_search": f"{_HERE}.search_tools.hybrid_search:HybridSearch",
        "keyword_search": f"{_HERE}.search_tools.keyword_search:KeywordSearch",
        "storage": f"{_HERE}.storage:Storage",
        "vector_search": f"{_HERE}.search_tools.vector_search:VectorSearch",
    }
)
