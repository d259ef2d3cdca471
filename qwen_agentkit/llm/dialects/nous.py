"""The dialect of Qwen 2.5, Qwen 3 and the Hermes models: JSON between `<tool_call>` tags.

Wire tokens: ``<tools>``, ``<tool_call>``, ``<tool_response>``. With the environment variable SPECIAL_CODE_MODE=true,
a tool whose name contains `code_interpreter` gets its code between ``<code>`` tags behind the JSON, unescaped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.dialects.base import Content, Dialect, arguments_value, concatenated, tool_line, with_text
from qwen_agentkit.settings import TRUE_WORDS

CODE_TOOL = "code_interpreter"

_TOOLS = {
    "en": """# Tools

You can use tools to answer. Each line between the tags describes one, with the JSON schema of its arguments:
<tools>
{tools}
</tools>

To use a tool, write its name and arguments as one JSON object between these tags:
<tool_call>
{{"name": <name of the tool>, "arguments": <object with the arguments>}}
</tool_call>
Write one such block for each call you need. The results come back to you; do not make them up.""",
    "zh": """# 工具

你可以使用工具来回答。标签之间的每一行描述一个工具，并给出参数的 JSON schema：
<tools>
{tools}
</tools>

需要使用工具时，请在下面的标签之间写一个 JSON 对象，包含工具名和参数：
<tool_call>
{{"name": <工具名>, "arguments": <参数对象>}}
</tool_call>
每次调用写一个这样的块。结果会返回给你，不要自己编造。""",
}
_CODE = {
    "en": """

For the tool {names}, leave the argument `code` empty and put the program behind the JSON:
<tool_call>
{{"name": <name of the tool>, "arguments": {{"code": ""}}}}
<code>
<the program>
</code>
</tool_call>""",
    "zh": """

对于工具 {names}，参数 `code` 留空，把程序写在 JSON 之后：
<tool_call>
{{"name": <工具名>, "arguments": {{"code": ""}}}}
<code>
<程序>
</code>
</tool_call>""",
}


def code_mode() -> bool:
    """Whether SPECIAL_CODE_MODE asks for code outside the JSON."""
    return os.environ.get("SPECIAL_CODE_MODE", "").strip().lower() in TRUE_WORDS - {""}


def _write_tools(functions: Sequence[Mapping[str, Any]], lang: str, parallel: bool) -> str:
    language = "zh" if lang == "zh" else "en"
    text = _TOOLS[language].format(tools="\n".join(tool_line(function) for function in functions))
    names = [f"`{function['name']}`" for function in functions if CODE_TOOL in str(function.get("name"))]
    if names and code_mode():
        text += _CODE[language].format(names=", ".join(names))
    return text


def _write_call(name: str, arguments: str) -> str:
    value = arguments_value(arguments)
    if CODE_TOOL in name and isinstance(value, dict) and isinstance(value.get("code"), str) and code_mode():
        head = dump_json({"name": name, "arguments": {**value, "code": ""}})
        return f"<tool_call>\n{head}\n<code>\n{value['code']}\n</code>\n</tool_call>"
    return f"<tool_call>\n{dump_json({'name': name, 'arguments': value})}\n</tool_call>"


def write_responses(results: Sequence[tuple[str, Content]], lang: str) -> Content:
    """Results between ``<tool_response>`` tags; a closing tag inside a result cannot end it."""
    return concatenated(
        [with_text(_fenced(content), "<tool_response>\n", "\n</tool_response>") for _, content in results]
    )


def _fenced(content: Content) -> Content:
    if isinstance(content, str):
        return _neutral(content)
    return [
        item.model_copy(update={"text": _neutral(item.text)}) if item.text is not None else item for item in content
    ]


def _neutral(text: str) -> str:
    return text.replace("</tool_response>", "<\\/tool_response>") if "</tool_response>" in text else text


NOUS = Dialect("nous", _write_tools, _write_call, write_responses)
