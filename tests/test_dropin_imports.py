"""Every path and name that programs written for Qwen-Agent 0.0.34 import is there under the new name."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import qwen_agentkit
from qwen_agentkit.errors import MissingDependencyError

# Path below `qwen_agentkit` -> its names.
NAMES = {
    "": "Agent MultiAgentHub __version__",
    "agent": "Agent BasicAgent",
    "multi_agent_hub": "MultiAgentHub",
    "agents": "Agent BasicAgent MultiAgentHub DocQAAgent DialogueSimulator HumanSimulator ParallelDocQA Assistant "
    "ArticleAgent ReActChat Router UserAgent GroupChat WriteFromScratch GroupChatCreator GroupChatAutoRouter "
    "FnCallAgent VirtualMemoryAgent DialogueRetrievalAgent TIRMathAgent",
    "agents.assistant": "Assistant get_current_date_str format_knowledge_to_source_and_content KNOWLEDGE_TEMPLATE "
    "KNOWLEDGE_SNIPPET",
    "agents.doc_qa": "BasicDocQA ParallelDocQA",
    "agents.user_agent": "UserAgent PENDING_USER_INPUT",
    "agents.memo_assistant": "MemoAssistant",
    "agents.keygen_strategies": "GenKeyword GenKeywordWithKnowledge SplitQuery SplitQueryThenGenKeyword "
    "SplitQueryThenGenKeywordWithKnowledge",
    "agents.writing": "ContinueWriting ExpandWriting OutlineWriting",
    "llm": "get_chat_model BaseChatModel ModelServiceError TextChatAtOAI TextChatAtAzure QwenChatAtDS QwenVLChatAtDS "
    "QwenVLChatAtOAI QwenAudioChatAtDS QwenVLoChatAtDS QwenOmniChatAtOAI OpenVINO Transformers LLM_REGISTRY",
    "llm.base": "register_llm LLM_REGISTRY BaseChatModel ModelServiceError",
    "llm.schema": "Message ContentItem FunctionCall ROLE CONTENT REASONING_CONTENT NAME SYSTEM USER ASSISTANT FUNCTION "
    "FILE IMAGE AUDIO VIDEO DEFAULT_SYSTEM_MESSAGE",
    "tools": "BaseTool TOOL_REGISTRY CodeInterpreter ImageGen AmapWeather DocParser KeywordSearch Storage Retrieval "
    "ImageZoomInToolQwen3VL ImageSearch WebExtractor SimpleDocParser VectorSearch HybridSearch FrontPageSearch "
    "ExtractDocVocabulary PythonExecutor MCPManager WebSearch",
    "tools.base": "BaseTool BaseToolWithFileAccess register_tool is_tool_schema ToolServiceError TOOL_REGISTRY",
    "tools.doc_parser": "DocParser Record Chunk",
    "tools.image_zoom_in_qwen3vl": "ImageZoomInToolQwen3VL",
    "tools.mcp_manager": "MCPManager",
    "tools.simple_doc_parser": "SimpleDocParser DocParserError PARSER_SUPPORTED_FILE_TYPES parse_pdf parse_word "
    "parse_ppt parse_txt parse_excel parse_csv parse_tsv parse_html_bs df_to_md get_plain_doc PARAGRAPH_SPLIT_SYMBOL",
    "tools.storage": "Storage KeyNotExistsError",
    "memory": "Memory",
    "gui": "WebUI",
    "utils.output_beautify": "typewriter_print multimodal_typewriter_print",
    "utils.utils": "get_local_ip hash_sha256 print_traceback has_chinese_chars has_chinese_messages "
    "get_basename_from_url is_http_url is_image sanitize_chrome_file_path save_url_to_local_work_dir save_text_to_file "
    "read_text_from_file get_file_type extract_urls extract_markdown_urls extract_code json_loads json_dumps_pretty "
    "json_dumps_compact PydanticJSONEncoder format_as_multimodal_message format_as_text_message "
    "extract_text_from_message extract_files_from_messages extract_images_from_messages merge_generate_cfgs "
    "build_text_completion_prompt encode_image_as_base64 encode_audio_as_base64 encode_video_as_base64 "
    "load_image_from_base64 resize_image get_last_usr_msg_idx append_signal_handler rm_default_system "
    "save_audio_to_file",
    "utils.tokenization_qwen": "tokenizer count_tokens QWenTokenizer",
    "utils.parallel_executor": "parallel_exec serial_exec",
    "log": "logger setup_logger",
    "settings": "MAX_LLM_CALL_PER_RUN DEFAULT_MAX_INPUT_TOKENS DEFAULT_WORKSPACE DEFAULT_MAX_REF_TOKEN "
    "DEFAULT_PARSER_PAGE_SIZE DEFAULT_RAG_KEYGEN_STRATEGY DEFAULT_RAG_SEARCHERS",
}

TOOLS = (
    "code_interpreter retrieval doc_parser simple_doc_parser keyword_search vector_search front_page_search "
    "hybrid_search extract_doc_vocabulary storage web_extractor web_search image_gen image_search image_zoom_in_tool "
    "amap_weather"
)
MODEL_TYPES = (
    "oai azure qwen_dashscope qwenvl_dashscope qwenaudio_dashscope qwenvlo_dashscope qwenvl_oai qwenomni_oai openvino "
    "transformers"
)


@pytest.mark.parametrize("path", NAMES)
def test_a_path_has_its_names(path):
    module = importlib.import_module(f"qwen_agentkit.{path}" if path else "qwen_agentkit")
    missing = [name for name in NAMES[path].split() if getattr(module, name, None) is None]
    assert missing == []


def test_a_class_is_the_same_under_each_of_its_paths():
    from qwen_agentkit import agents, llm, schema, tools
    from qwen_agentkit.agents.doc_qa import BasicDocQA
    from qwen_agentkit.llm import schema as llm_schema

    assert agents.DocQAAgent is BasicDocQA
    assert agents.Agent is qwen_agentkit.Agent
    assert importlib.import_module("qwen_agentkit.multi_agent_hub").MultiAgentHub is agents.MultiAgentHub
    assert llm_schema.Message is schema.Message
    assert importlib.import_module("qwen_agentkit.llm.base").LLM_REGISTRY is llm.LLM_REGISTRY
    assert importlib.import_module("qwen_agentkit.tools.base").TOOL_REGISTRY is tools.TOOL_REGISTRY


def test_constants_have_their_values():
    from qwen_agentkit.agents.user_agent import PENDING_USER_INPUT
    from qwen_agentkit.llm import schema
    from qwen_agentkit.tools.simple_doc_parser import PARAGRAPH_SPLIT_SYMBOL

    assert PENDING_USER_INPUT == "<!-- INTERRUPT: PENDING_USER_INPUT -->"
    assert PARAGRAPH_SPLIT_SYMBOL == "\n"
    assert schema.DEFAULT_SYSTEM_MESSAGE == ""
    words = [schema.ROLE, schema.CONTENT, schema.REASONING_CONTENT, schema.NAME]
    assert words == ["role", "content", "reasoning_content", "name"]
    assert [schema.SYSTEM, schema.USER, schema.ASSISTANT, schema.FUNCTION] == [
        "system",
        "user",
        "assistant",
        "function",
    ]
    assert [schema.FILE, schema.IMAGE, schema.AUDIO, schema.VIDEO] == ["file", "image", "audio", "video"]


@pytest.mark.parametrize("name", TOOLS.split())
def test_a_tool_can_be_named(name):
    from qwen_agentkit.tools import TOOL_REGISTRY

    assert TOOL_REGISTRY[name].name == name


@pytest.mark.parametrize("name", MODEL_TYPES.split())
def test_a_model_type_can_be_named(name):
    from qwen_agentkit.llm import LLM_REGISTRY, BaseChatModel

    assert issubclass(LLM_REGISTRY[name], BaseChatModel)


def test_the_page_is_imported_without_gradio():
    code = (
        "import sys\n"
        "sys.modules['gradio'] = None\n"
        "from qwen_agentkit.gui import WebUI\n"
        "from qwen_agentkit.agents import Assistant\n"
        "print(WebUI.__name__, Assistant.__name__)\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["WebUI", "Assistant"]


@pytest.mark.skipif(importlib.util.find_spec("modelscope_studio") is not None, reason="modelscope_studio is here")
@pytest.mark.parametrize("name", ["ms", "mgr"])
def test_what_only_modelscope_studio_brings_is_said(name):
    with pytest.raises(MissingDependencyError, match="modelscope_studio"):
        getattr(importlib.import_module("qwen_agentkit.gui.gradio_dep"), name)
