"""Thought, Action, Action Input, Observation: the plain-text form that any instruction-tuned model can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.dialects.base import Content, Dialect, arguments_text, concatenated, with_text

STOP_WORDS = ("Observation:", "Observation:\n")

_TOOLS = {
    "en": """# Tools

You can use these tools:
{tools}

To use a tool, write exactly these lines and then stop:
Thought: why you need the tool
Action: the tool's name, one of {names}
Action Input: the arguments, a JSON object
{several}
The result follows as a line that begins with `Observation:`. Thought, Action and Action Input may be repeated.
When no tool is needed (any more), write your answer without these lines.""",
    "zh": """# 工具

你可以使用以下工具：
{tools}

需要使用工具时，请严格写出下面几行，然后停止：
Thought: 为什么需要这个工具
Action: 工具名，必须是 {names} 之一
Action Input: 参数，一个 JSON 对象
{several}
结果会以 `Observation:` 开头的一行给出。Thought、Action、Action Input 可以重复。
（不再）需要工具时，请直接写出答案，不要写这些行。""",
}
_SEVERAL = {
    ("en", False): "Use one tool at a time.",
    ("en", True): "For several tools at once, write several pairs of Action and Action Input.",
    ("zh", False): "一次只使用一个工具。",
    ("zh", True): "需要同时使用多个工具时，请写多组 Action 和 Action Input。",
}


def _write_tools(functions: Sequence[Mapping[str, Any]], lang: str, parallel: bool) -> str:
    language = "zh" if lang == "zh" else "en"
    tools = [
        f"{function.get('name')}: {function.get('description') or ''} "
        f"{'参数' if language == 'zh' else 'Arguments'}: {dump_json(function.get('parameters') or {})}"
        for function in functions
    ]
    return _TOOLS[language].format(
        tools="\n".join(tools),
        names=", ".join(str(function.get("name")) for function in functions),
        several=_SEVERAL[language, parallel],
    )


def _write_call(name: str, arguments: str) -> str:
    return f"Action: {name}\nAction Input: {arguments_text(arguments)}"


def _write_results(results: Sequence[tuple[str, Content]], lang: str) -> Content:
    return concatenated([with_text(content, "Observation: ", "") for _, content in results])


REACT = Dialect("react", _write_tools, _write_call, _write_results, stop_words=STOP_WORDS)
