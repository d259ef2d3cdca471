"""Tools. Each name is imported from its module at first use."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "TOOL_REGISTRY": ".registry",
    "AmapWeather": ".amap_weather",
    "BaseTool": ".base",
    "BaseToolWithFileAccess": ".base",
    "Calculator": ".calculator",
    "CodeInterpreter": ".code_interpreter",
    "DocParser": ".doc_parser",
    "ExtractDocVocabulary": ".extract_doc_vocabulary",
    "FrontPageSearch": ".search_tools.front_page_search",
    "FunctionTool": ".function_tool",
    "HybridSearch": ".search_tools.hybrid_search",
    "ImageGen": ".image_gen",
    "ImageSearch": ".image_search",
    "ImageZoomInToolQwen3VL": ".image_zoom_in_tool",
    "Injected": ".function_tool",
    "KeywordSearch": ".search_tools.keyword_search",
    "ListFiles": ".list_files",
    "MCPManager": ".mcp",
    "MCPWorkbench": ".mcp",
    "PythonExecutor": ".python_executor",
    "ReadFile": ".read_file",
    "Retrieval": ".retrieval",
    "RunCommand": ".run_command",
    "SimpleDocParser": ".simple_doc_parser",
    "StaticWorkbench": ".workbench",
    "Storage": ".storage",
    "ToolResult": ".results",
    "VectorSearch": ".search_tools.vector_search",
    "WebExtractor": ".web_extractor",
    "WebSearch": ".web_search",
    "Workbench": ".workbench",
    "WriteFile": ".write_file",
    "is_tool_schema": ".base",
    "register_tool": ".base",
    "tool": ".function_tool",
}

__all__ = list(_WHERE)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
