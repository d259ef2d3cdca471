"""`TOOL_REGISTRY`: every tool by name. Built-in tools are listed from the start and imported when used."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import LazyRegistry

_HERE = "qwen_agentkit.tools"

# Built-in names that Qwen-Agent has not: a program written for it may have a tool of its own under one of them, and
# its own is then the one that counts.
YIELDING = frozenset({"calculator", "list_files", "python_executor", "read_file", "run_command", "write_file"})

TOOL_REGISTRY = LazyRegistry(
    {
        "amap_weather": f"{_HERE}.amap_weather:AmapWeather",
        "calculator": f"{_HERE}.calculator:Calculator",
        "code_interpreter": f"{_HERE}.code_interpreter:CodeInterpreter",
        "doc_parser": f"{_HERE}.doc_parser:DocParser",
        "extract_doc_vocabulary": f"{_HERE}.extract_doc_vocabulary:ExtractDocVocabulary",
        "front_page_search": f"{_HERE}.search_tools.front_page_search:FrontPageSearch",
        "hybrid_search": f"{_HERE}.search_tools.hybrid_search:HybridSearch",
        "image_gen": f"{_HERE}.image_gen:ImageGen",
        "image_search": f"{_HERE}.image_search:ImageSearch",
        "image_zoom_in_tool": f"{_HERE}.image_zoom_in_tool:ImageZoomInToolQwen3VL",
        "keyword_search": f"{_HERE}.search_tools.keyword_search:KeywordSearch",
        "list_files": f"{_HERE}.list_files:ListFiles",
        "python_executor": f"{_HERE}.python_executor:PythonExecutor",
        "read_file": f"{_HERE}.read_file:ReadFile",
        "retrieval": f"{_HERE}.retrieval:Retrieval",
        "run_command": f"{_HERE}.run_command:RunCommand",
        "simple_doc_parser": f"{_HERE}.simple_doc_parser:SimpleDocParser",
        "storage": f"{_HERE}.storage:Storage",
        "vector_search": f"{_HERE}.search_tools.vector_search:VectorSearch",
        "web_extractor": f"{_HERE}.web_extractor:WebExtractor",
        "web_search": f"{_HERE}.web_search:WebSearch",
        "write_file": f"{_HERE}.write_file:WriteFile",
    }
)
