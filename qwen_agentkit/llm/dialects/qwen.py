"""The dialect of Qwen 1.5 and 2: calls and results behind special tokens, all inside one assistant message.

Wire tokens: ``✿FUNCTION✿: name``, ``✿ARGS✿: arguments``, ``✿RESULT✿: result``, ``✿RETURN✿: what the user reads``.
A tool may bring `name_for_human`, `name_for_model` and `args_format` in its schema, as Qwen-Agent's tools do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.dialects.base import Content, Dialect, arguments_text, text_of
from qwen_agentkit.llm.dialects.marks import QWEN_ARGS, QWEN_FUNCTION, QWEN_RESULT, QWEN_RETURN

STOP_WORDS = (QWEN_RESULT, QWEN_RETURN)

_TOOLS = {
    "en": """# Tools

## You have these tools:

{tools}

## To use a tool, put these lines into your reply:

{form}""",
    "zh": """# 工具

## 你拥有如下工具：

{tools}

## 需要使用工具时，请在回复中插入下面几行：

{form}""",
}
_FORM = {
    ("en", False): """✿FUNCTION✿: the tool's name, one of [{names}].
✿ARGS✿: what the tool is given.
✿RESULT✿: what the tool gives back.
✿RETURN✿: your reply to the user, made from the result. Show images that the user is to see as ![](url).""",
    ("zh", False): """✿FUNCTION✿: 工具名，必须是 [{names}] 之一。
✿ARGS✿: 工具的输入。
✿RESULT✿: 工具返回的结果。
✿RETURN✿: 根据结果给用户的回复。需要给用户看的图片写作 ![](url)。""",
    ("en", True): """✿FUNCTION✿: name of the first tool, one of [{names}]
✿ARGS✿: what the first tool is given
✿FUNCTION✿: name of the second tool
✿ARGS✿: what the second tool is given
(as many as can work at the same time)
✿RESULT✿: what the first tool gives back
✿RESULT✿: what the second tool gives back
✿RETURN✿: your reply to the user, made from the results. Show images that the user is to see as ![](url).""",
    ("zh", True): """✿FUNCTION✿: 第一个工具名，必须是 [{names}] 之一
✿ARGS✿: 第一个工具的输入
✿FUNCTION✿: 第二个工具名
✿ARGS✿: 第二个工具的输入
（可以同时工作的工具都可以写上）
✿RESULT✿: 第一个工具返回的结果
✿RESULT✿: 第二个工具返回的结果
✿RETURN✿: 根据结果给用户的回复。需要给用户看的图片写作 ![](url)。""",
}
_TOOL = {
    "en": "### {human}\n\n{name}: {description} Input: {parameters} {form}",
    "zh": "### {human}\n\n{name}：{description} 输入参数：{parameters} {form}",
}


def _write_tools(functions: Sequence[Mapping[str, Any]], lang: str, parallel: bool) -> str:
    language = "zh" if lang == "zh" else "en"
    tools = [
        _TOOL[language]
        .format(
            human=function.get("name_for_human") or function.get("name"),
            name=_model_name(function),
            description=function.get("description_for_model") or function.get("description") or "",
            parameters=dump_json(function.get("parameters") or {}),
            form=function.get("args_format") or "",
        )
        .rstrip()
        for function in functions
    ]
    names = ", ".join(_model_name(function) for function in functions)
    return _TOOLS[language].format(tools="\n\n".join(tools), form=_FORM[language, parallel].format(names=names))


def _model_name(function: Mapping[str, Any]) -> str:
    return str(function.get("name_for_model") or function.get("name"))


def _write_call(name: str, arguments: str) -> str:
    return f"{QWEN_FUNCTION}: {name}\n{QWEN_ARGS}: {arguments_text(arguments)}"


def _write_results(results: Sequence[tuple[str, Content]], lang: str) -> Content:
    # The model goes on behind the last mark. An assistant's message carries no images: they are named.
    lines = [f"{QWEN_RESULT}: {_neutral(text_of(content))}" for _, content in results]
    return "\n".join([*lines, f"{QWEN_RETURN}: "])


def _neutral(text: str) -> str:
    """A result cannot end itself: the flower of a mark inside it is replaced."""
    if "✿" not in text:
        return text
    for mark in (QWEN_FUNCTION, QWEN_ARGS, QWEN_RESULT, QWEN_RETURN):
        text = text.replace(mark, mark.replace("✿", "*"))
    return text


QWEN = Dialect("qwen", _write_tools, _write_call, _write_results, stop_words=STOP_WORDS, results_in_reply=True)
