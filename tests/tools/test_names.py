"""Every name that a Qwen-Agent program imports from the tools is there, and every built-in tool can be made by name."""

import importlib
import subprocess
import sys

import pytest

import qwen_agentkit.tools
from qwen_agentkit import settings
from qwen_agentkit.tools import TOOL_REGISTRY, BaseTool, is_tool_schema

NAMES = (
    "BaseTool TOOL_REGISTRY CodeInterpreter ImageGen AmapWeather DocParser KeywordSearch Storage Retrieval "
    "ImageZoomInToolQwen3VL ImageSearch WebExtractor SimpleDocParser VectorSearch HybridSearch FrontPageSearch "
    "ExtractDocVocabulary PythonExecutor MCPManager WebSearch"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_the_drop_in_names_are_exported(name):
    assert getattr(qwen_agentkit.tools, name) is not None
    assert name in dir(qwen_agentkit.tools)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("base", "BaseTool BaseToolWithFileAccess register_tool is_tool_schema ToolServiceError TOOL_REGISTRY"),
        ("doc_parser", "DocParser Record Chunk"),
        (
            "simple_doc_parser",
            "SimpleDocParser DocParserError PARSER_SUPPORTED_FILE_TYPES parse_pdf parse_word parse_ppt parse_txt "
            "parse_excel parse_csv parse_tsv parse_html_bs df_to_md get_plain_doc PARAGRAPH_SPLIT_SYMBOL",
        ),
        ("storage", "Storage KeyNotExistsError"),
        ("search_tools", "KeywordSearch VectorSearch HybridSearch FrontPageSearch"),
        ("mcp_manager", "MCPManager"),
    ],
)
def test_the_drop_in_modules_have_their_names(module, names):
    held = importlib.import_module(f"qwen_agentkit.tools.{module}")
    assert [name for name in names.split() if not hasattr(held, name)] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        qwen_agentkit.tools.Nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted(TOOL_REGISTRY))
def test_every_built_in_tool_works_in_its_string_form(name, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path))
    tool = TOOL_REGISTRY[name]()
    assert isinstance(tool, BaseTool)
    assert tool.name == name
    assert is_tool_schema(tool.function)
    assert tool.description
    # Making a tool writes nothing.
    assert list(tmp_path.iterdir()) == []


def test_importing_the_tools_loads_nothing_heavy():
    program = (
        "import sys, qwen_agentkit.tools, qwen_agentkit.tools.base, qwen_agentkit.tools.function_tool\n"
        "heavy = ('numpy', 'pydantic', 'jsonschema', 'openai', 'PIL', 'lxml', 'mcp', 'jieba', 'tantivy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
