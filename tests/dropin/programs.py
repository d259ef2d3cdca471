"""Every example, notebook and test of Qwen-Agent 0.0.34, with what the model says to it and what it must print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.dropin.speaker import Speaker

# How a program is run.
CALL, MAIN, PAGE, PYTEST = "call", "main", "page", "pytest"


@dataclass(frozen=True)
class Program:
    """One thing to run.

    Args:
        path: Its file in the checkout; `::name` behind it names one test, `::name,name` several.
        kind: The class of the specification: A (a model is enough), A* and B (with a local substitute), C (with a
            local copy of what it reads on the web).
        stands_in: What is local that was not; "" for a model alone.
        speaker: Makes the model.
        prints: What the output must hold.
        how: `call` its `test`, run it as `main`, show its `page`, or `pytest`.
        arguments: For `test`.
        gradio5: It builds a page of its own with Gradio 5 and modelscope_studio.
        seconds: Limit.
    """

    path: str
    kind: str
    stands_in: str = ""
    speaker: Callable[[], Speaker] = Speaker
    prints: tuple[str, ...] = ()
    how: str = CALL
    arguments: tuple[str, ...] = ()
    gradio5: bool = False
    seconds: float = 120.0

    @property
    def name(self) -> str:
        return f"{self.path} (page)" if self.how == PAGE else self.path


SAN_FRANCISCO = ("get_current_weather", {"location": "San Francisco, CA", "unit": "fahrenheit"})
TOKYO = ("get_current_weather", {"location": "Tokyo, Japan", "unit": "celsius"})
PARIS = ("get_current_weather", {"location": "Paris, France", "unit": "celsius"})
DISTRICT = ("amap_weather", {"location": "海淀区"})
CAT = ("image_gen", {"prompt": "a cute cat"})
DOG = ("my_image_gen", {"prompt": "a dog"})
TIME = ("time-get_current_time", {"timezone": "Asia/Shanghai"})
PLOT = "import csv\nrows = list(csv.reader(open('stock_prices.csv')))\nprint('rows', len(rows))"
TABLE = "create table scores (id int, score int); insert into scores values (100, 85), (107, 100);"
FIBONACCI = "a, b = 0, 1\nfor _ in range(10):\n    print(a, end=' ')\n    a, b = b, a + b"
RIDDLES = (
    ("列表", "['一加一等于三', '鱼会骑车']"),
    ("一加一等于三", "一加一等于三"),
    ("鱼会骑车", "鱼会骑车"),
)
KEYWORDS = ("keywords_en", '{"keywords_zh": ["翻转", "贡献"], "keywords_en": ["flip", "guarantee"]}')


def calling(*rounds: list, says: tuple = (KEYWORDS,), answer: str = "Here you are.") -> Callable[[], Speaker]:
    """A model that makes these rounds of calls for each question."""
    return lambda: Speaker([list(rounds)], says, answer)


def saying(*says: tuple[str, str], answer: str = "That is all there is to say.") -> Callable[[], Speaker]:
    return lambda: Speaker((), (*says, KEYWORDS), answer)


PDF, PICTURE, MCP, SANDBOX = "a local PDF", "a local picture", "local MCP servers", "bubblewrap for Docker"
AMAP, IMAGES, WEBPAGE, SEARCH = "a local AMap", "a local image service", "a local page", "a local search service"

EXAMPLES = (
    Program(
        "examples/assistant_add_custom_tool.py",
        "A*",
        SANDBOX,
        calling([DOG], [("code_interpreter", {"code": "print(6 * 7)"})]),
        ("image.pollinations.ai", "42", "Here you are."),
    ),
    Program(
        "examples/assistant_audio.py", "A*", "", saying(answer="A voice says welcome."), ("A voice says welcome.",)
    ),
    Program(
        "examples/assistant_mcp_sqlite_bot.py",
        "B",
        MCP,
        calling([("sqlite-list_tables", {})]),
        ("sqlite-list_tables", "Here you are."),
    ),
    Program("examples/assistant_omni.py", "A", "", saying(answer="Somebody speaks."), ("Somebody speaks.",)),
    Program("examples/assistant_qwen3.5.py", "B", MCP, calling([TIME]), ("2025-05-01T12:00:00", "Here you are.")),
    Program(
        "examples/assistant_qwen3.py",
        "B",
        f"{MCP}, {SANDBOX}",
        calling([TIME], [("code_interpreter", {"code": "print(6 * 7)"})]),
        ("2025-05-01T12:00:00", "42", "Here you are."),
    ),
    Program("examples/assistant_qwen3_coder.py", "B", MCP, calling([TIME]), ("2025-05-01T12:00:00", "Here you are.")),
    Program(
        "examples/assistant_qwen3vl.py",
        "C",
        f"{PICTURE}, {SEARCH}",
        calling(
            [("image_zoom_in_tool", {"bbox_2d": [100, 100, 500, 500], "label": "dog", "img_idx": 0})],
            [("image_search", {"img_idx": 0})],
            [("web_search", {"query": "dog breeds"})],
            answer="A Labrador.",
        ),
        ("A dog beside a girl", "A friendly dog.", "A Labrador."),
        MAIN,
    ),
    Program("examples/assistant_qwq.py", "A*", IMAGES, calling([CAT], [CAT]), ("found.jpg", "Here you are.")),
    Program("examples/assistant_rag.py", "C", PDF, saying(answer="Figure one."), ("Figure one.",)),
    Program(
        "examples/assistant_weather_bot.py",
        "C",
        f"{AMAP}, {IMAGES}",
        calling([DISTRICT], [CAT]),
        ("海淀区的天气是晴温度是21度", "found.jpg", "Here you are."),
    ),
    Program(
        "examples/function_calling.py",
        "A",
        "",
        calling([SAN_FRANCISCO]),
        ('"temperature": "72"', "# Assistant Response 2:", "Here you are."),
        MAIN,
    ),
    Program(
        "examples/function_calling_in_parallel.py",
        "A",
        "",
        calling([SAN_FRANCISCO, TOKYO, PARIS]),
        ('"temperature": "72"', '"temperature": "10"', '"temperature": "22"', "Here you are."),
    ),
    Program("examples/gpt_mentions.py", "B", "Gradio", saying(), ("the page was served",), PAGE),
    Program(
        "examples/group_chat_chess.py",
        "A*",
        SANDBOX,
        lambda: Speaker(
            [[[("code_interpreter", {"code": "print([[0, 1], [0, -1]])"})]]],
            (("[STOP]", "棋盘"), ("[0, 1]", "棋盘已更新"), KEYWORDS),
            "<2,2>",
        ),
        ("bot response", "棋盘"),
    ),
    Program("examples/group_chat_demo.py", "B", "Gradio 5 with modelscope_studio", saying(), (), gradio5=True),
    Program("examples/llm_quick_chat_oai.py", "A", "", calling([CAT]), ("tool_calls", "a cute cat", "Here you are.")),
    Program(
        "examples/llm_riddles.py",
        "A",
        "",
        saying(*RIDDLES),
        ("You win!",),
    ),
    Program("examples/llm_vl_mix_text.py", "A", "", calling([CAT]), ("a cute cat", "Here you are.")),
    Program("examples/long_dialogue.py", "A", "", saying(("大头", "小明的爸爸叫大头。")), ("小明的爸爸叫大头。",)),
    Program(
        "examples/multi_agent_router.py",
        "A*",
        f"{SANDBOX}, {IMAGES}",
        lambda: Speaker(
            [[[("code_interpreter", {"code": "print(6 * 7)"})]]],
            (('"worker"', '{"worker": "工具助手", "confidence": 1}'), KEYWORDS),
            "It is 42.",
        ),
        ("Action: code_interpreter", "Observation: ", "It is 42."),
    ),
    Program(
        "examples/parallel_doc_qa.py",
        "C",
        PDF,
        saying(('"res"', '{"res": "ans", "content": "The motor is guaranteed."}'), answer="The motor is guaranteed."),
        ("The motor is guaranteed.",),
    ),
    Program(
        "examples/qwen2vl_assistant_tooluse.py",
        "C",
        f"{PICTURE}, {SANDBOX}",
        calling(
            [("crop_and_resize", {"image": "screenshot_with_plot.jpeg", "rectangle": "(10,10),(200,200)"})],
            [("code_interpreter", {"code": "print(6 * 7)"})],
        ),
        ("42", "Here you are."),
    ),
    Program("examples/qwen2vl_assistant_video.py", "A", "", saying(answer="A goal is shot."), ("A goal is shot.",)),
    Program(
        "examples/qwen2vl_function_calling.py",
        "C",
        PICTURE,
        calling([("image_gen", {"prompt": "a man with a dog"})]),
        ("pic.jpg", "# Assistant Response 2:", "Here you are."),
    ),
    Program(
        "examples/react_data_analysis.py",
        "A*",
        SANDBOX,
        calling([("code_interpreter", {"code": PLOT})], answer="Thought: done.\nFinal Answer: The prices rise."),
        ("Action: code_interpreter", "rows ", "Final Answer: The prices rise."),
    ),
    Program(
        "examples/tir_math.py",
        "A",
        "",
        saying(
            ("```output", "So the answer is \\boxed{0 1 1 2 3 5 8 13 21 34}."),
            answer=f"We compute.\n```python\n{FIBONACCI}\n```\n",
        ),
        ("0 1 1 2 3 5 8 13 21 34", "boxed"),
    ),
    Program(
        "examples/virtual_memory_qa.py",
        "C",
        PDF,
        calling([("retrieval", {"query": "guarantee", "files": ["WEB/QWEN_TECHNICAL_REPORT.pdf"]})]),
        ("Here you are.",),
    ),
    Program(
        "examples/visual_storytelling.py",
        "C",
        f"{WEBPAGE}, {PICTURE}",
        saying(answer="Once a dog met a girl."),
        ("Once a dog met a girl.",),
    ),
)

NOTEBOOKS = (
    Program(
        "examples/cookbook_database_manipulation.cells.py",
        "B",
        f"{MCP}, Gradio",
        lambda: Speaker(
            [
                [[("filesystem-read_file", {"path": "scores.csv"})]],
                [[("sqlite-write_query", {"query": TABLE})]],
                [[("sqlite-read_query", {"query": "select max(score) from scores"})]],
            ],
            answer="Here you are.",
        ),
        ("100,85", "[(100,)]", "the page was served"),
        PAGE,
    ),
    Program(
        "examples/cookbook_drive_guide.cells.py",
        "C",
        "an MCP server that cannot be reached, Gradio",
        saying(answer="It is far."),
        ("It is far.", "the page was served"),
        PAGE,
    ),
    Program(
        "examples/cookbook_mind_map.cells.py",
        "B",
        f"{MCP}, Gradio",
        lambda: Speaker(
            [
                [[("filesystem-read_file", {"path": "example_document.md"})]],
                [[("mindmap-convert_markdown_to_mindmap", {"markdown_content": "# Document"})]],
            ],
            answer="Here you are.",
        ),
        ("## Background", "mindmap.html", "the page was served"),
        PAGE,
    ),
    Program(
        "examples/cookbook_think_with_images.cells.py",
        "C",
        f"{PICTURE}, {SEARCH}, Gradio",
        calling(
            [("image_zoom_in_tool", {"bbox_2d": [100, 100, 500, 500], "label": "sign", "img_idx": 0})],
            [("image_search", {"img_idx": 0})],
            answer="In a street.",
        ),
        ("A dog beside a girl", "In a street.", "the page was served"),
        PAGE,
    ),
)


def _test(
    path: str, kind: str, stands_in: str = "", speaker: Callable[[], Speaker] = Speaker, **more: object
) -> Program:
    return Program(path, kind, stands_in, speaker, how=PYTEST, **more)  # type: ignore[arg-type]


REACT_ANSWER = "Thought: I know it now.\nFinal Answer: It is sunny."
FORCED = calling([SAN_FRANCISCO])

TESTS = (
    _test(
        "tests/agents/test_article_agent.py::test_article_agent_full_article",
        "C",
        "skipped by its own mark",
        saying(),
    ),
    _test(
        "tests/agents/test_assistant.py::test_assistant_system_and_tool", "C", f"{AMAP}, {IMAGES}", calling([DISTRICT])
    ),
    _test("tests/agents/test_assistant.py::test_assistant_files", "C", WEBPAGE, saying()),
    _test(
        "tests/agents/test_assistant.py::test_assistant_empty_query", "C", WEBPAGE, saying(answer="It is about Qwen.")
    ),
    _test("tests/agents/test_assistant.py::test_assistant_vl", "A", "", saying()),
    _test("tests/agents/test_custom_tool_object.py::test_custom_tool_object", "A*", SANDBOX, calling([DOG])),
    _test("tests/agents/test_doc_qa.py::test_doc_qa", "C", WEBPAGE, saying()),
    _test(
        "tests/agents/test_parallel_qa.py::test_parallel_qa",
        "C",
        WEBPAGE,
        saying(('"res"', '{"res": "ans", "content": "It suits such work."}')),
    ),
    _test(
        "tests/agents/test_react_chat.py::test_react_chat",
        "C",
        f"{AMAP}, {IMAGES}",
        calling([DISTRICT], answer=REACT_ANSWER),
    ),
    _test(
        "tests/agents/test_react_chat.py::test_react_chat_with_file",
        "A*",
        SANDBOX,
        calling([("code_interpreter", {"code": PLOT})], answer=REACT_ANSWER),
    ),
    _test(
        "tests/agents/test_router.py::test_router",
        "C",
        AMAP,
        lambda: Speaker(
            [[[DISTRICT]]],
            (
                ('"worker"', '{"worker": "天气预报助手", "confidence": 1}'),
                KEYWORDS,
            ),
        ),
    ),
    _test(
        "tests/examples/test_examples.py",
        "C",
        "all of the examples' stand-ins, Gradio 5",
        # Each of its tests is offered some of these tools.
        lambda: Speaker(
            [[[DISTRICT, CAT, DOG, SAN_FRANCISCO, ("code_interpreter", {"code": "print(6 * 7)"})]]],
            (*RIDDLES, ("[STOP]", "棋盘"), ('"worker"', '{"worker": "工具助手", "confidence": 1}'), KEYWORDS),
        ),
        gradio5=True,
        seconds=400.0,
    ),
    _test("tests/examples/test_long_dialogue.py", "A", "", saying(("大头", "小明的爸爸叫大头。"))),
    _test(
        "tests/examples/test_vm_qa.py",
        "C",
        PDF,
        calling([("retrieval", {"query": "guarantee", "files": ["WEB/QWEN_TECHNICAL_REPORT.pdf"]})]),
    ),
    _test("tests/llm/test_continue.py::test_continue", "A", "", saying()),
    _test("tests/llm/test_dashscope.py::test_vl_mix_text", "A", "", saying()),
    _test("tests/llm/test_dashscope.py::test_llm_dashscope", "A", "", calling([CAT])),
    _test("tests/llm/test_dashscope.py::test_llm_retry_failure", "A", "", lambda: Speaker(status=401)),
    _test("tests/llm/test_function_content.py::test_function_content", "A", "", FORCED),
    _test("tests/llm/test_oai.py::test_llm_oai", "A", "", calling([CAT])),
    _test("tests/memory/test_memory.py::test_memory", "A", "", saying()),
    _test("tests/qwen_server/test_database_server.py::test_database_server", "offline"),
    _test("tests/tools/test_doc_parser.py::test_doc_parser", "C", PDF),
    _test("tests/tools/test_simple_doc_parser.py::test_simple_doc_parser", "C", PDF),
    _test("tests/tools/test_hybrid_search.py::test_hybrid_search", "offline"),
    _test("tests/tools/test_keyword_search.py::test_keyword_search", "offline"),
    _test("tests/tools/test_vector_search.py::test_vector_search", "C", "a local embedding service"),
    _test("tests/tools/test_tools.py::test_amap_weather", "C", AMAP),
    _test("tests/tools/test_tools.py::test_code_interpreter", "A*", SANDBOX),
    _test("tests/tools/test_tools.py::test_image_gen", "C", IMAGES),
    _test("tests/tools/test_tools.py::test_retrieval", "C", PDF),
    # One workspace: each reads what the one before has stored.
    _test("tests/tools/test_tools.py::test_storage_put,test_storage_scan,test_storage_get_delete", "offline"),
)

# Examples whose `app_gui` shows a page.
WITH_PAGES = (
    "assistant_add_custom_tool",
    "assistant_audio",
    "assistant_mcp_sqlite_bot",
    "assistant_omni",
    "assistant_qwen3",
    "assistant_qwen3.5",
    "assistant_qwen3_coder",
    "assistant_qwq",
    "assistant_rag",
    "assistant_weather_bot",
    "group_chat_chess",
    "long_dialogue",
    "multi_agent_router",
    "parallel_doc_qa",
    "qwen2vl_assistant_tooluse",
    "react_data_analysis",
    "tir_math",
    "virtual_memory_qa",
    "visual_storytelling",
)
PAGES = tuple(
    Program(f"examples/{name}.py", "B", "Gradio", saying(), ("the page was served",), PAGE) for name in WITH_PAGES
)

PROGRAMS = (*EXAMPLES, *NOTEBOOKS, *TESTS, *PAGES)
