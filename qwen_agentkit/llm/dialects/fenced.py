"""Calls as JSON in a code fence: for models that were trained on no form of tool calls at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.dialects.base import Content, Dialect, arguments_value, concatenated, text_of, with_text

_TOOLS = {
    "en": """# Tools

You can use tools. Each is described by a JSON object:
{tools}

To use a tool, end your reply with one JSON object in a code block, for each call:
```json
{{"name": "name of the tool", "arguments": {{"name of an argument": "value"}}}}
```
Then wait: the result comes in the next message. Without such a block, your reply is the final answer.""",
    "zh": """# 工具

你可以使用工具，每个工具由一个 JSON 对象描述：
{tools}

需要使用工具时，请在回复末尾为每次调用写一个代码块，内容是一个 JSON 对象：
```json
{{"name": "工具名", "arguments": {{"参数名": "值"}}}}
```
然后等待，结果会在下一条消息中给出。没有这样的代码块时，你的回复就是最终答案。""",
}
_RESULT = {"en": "Result of the tool `{name}`:", "zh": "工具 `{name}` 的结果："}


def _write_tools(functions: Sequence[Mapping[str, Any]], lang: str, parallel: bool) -> str:
    kept = [
        dump_json({key: function[key] for key in ("name", "description", "parameters") if key in function})
        for function in functions
    ]
    return _TOOLS["zh" if lang == "zh" else "en"].format(tools="\n".join(kept))


def _write_call(name: str, arguments: str) -> str:
    return f"```json\n{dump_json({'name': name, 'arguments': arguments_value(arguments)})}\n```"


def _write_results(results: Sequence[tuple[str, Content]], lang: str) -> Content:
    head = _RESULT["zh" if lang == "zh" else "en"]
    return concatenated([_write_result(head.format(name=name), content) for name, content in results], "\n\n")


def _write_result(head: str, content: Content) -> Content:
    # A fence longer than any in the result, so that the result cannot close it.
    longest = max((len(run) for run in re.findall(r"`+", text_of(content))), default=0)
    fence = "`" * max(3, longest + 1)
    return with_text(content, f"{head}\n{fence}\n", f"\n{fence}")


FENCED = Dialect("fenced", _write_tools, _write_call, _write_results)
