"""The dialect of Qwen3-Coder: calls as XML, each parameter as text between its own tags.

Wire tokens: ``<tools>``, ``<tool_call>``, ``<function=name>``, ``<parameter=key>``, ``<tool_response>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.dialects.base import Dialect, arguments_value
from qwen_agentkit.llm.dialects.nous import write_responses

_TOOLS = {
    "en": """# Tools

You can use these tools:
<tools>
{tools}
</tools>

To use one, write the call in this form, a block for each call:
<tool_call>
<function=name_of_the_tool>
<parameter=name_of_a_parameter>
its value, which may have
several lines
</parameter>
</function>
</tool_call>
Give all required parameters. Explain yourself before a call, not behind it, and never make up a result.""",
    "zh": """# 工具

你可以使用以下工具：
<tools>
{tools}
</tools>

需要使用工具时，请按下面的格式书写，每次调用写一个块：
<tool_call>
<function=工具名>
<parameter=参数名>
参数的值，
可以有多行
</parameter>
</function>
</tool_call>
必需的参数都要给出。说明写在调用之前，不要写在调用之后；不要编造结果。""",
}


def _write_tools(functions: Sequence[Mapping[str, Any]], lang: str, parallel: bool) -> str:
    written = "\n".join(_write_tool(function) for function in functions)
    return _TOOLS["zh" if lang == "zh" else "en"].format(tools=written)


def _write_tool(function: Mapping[str, Any]) -> str:
    lines = ["<function>", f"<name>{function.get('name', '')}</name>"]
    if function.get("description"):
        lines.append(f"<description>{function['description']}</description>")
    parameters = function.get("parameters") or {}
    lines.append("<parameters>")
    if isinstance(parameters, Mapping):
        for name, schema in (parameters.get("properties") or {}).items():
            lines.extend(_write_parameter(name, schema if isinstance(schema, Mapping) else {}))
        rest = {key: value for key, value in parameters.items() if key not in ("type", "properties", "required")}
        if parameters.get("required"):
            lines.append(f"<required>{dump_json(list(parameters['required']))}</required>")
        lines.extend(f"<{key}>{dump_json(value)}</{key}>" for key, value in rest.items())
    else:
        for item in parameters:
            lines.extend(_write_parameter(item.get("name", ""), item))
    lines.extend(["</parameters>", "</function>"])
    return "\n".join(lines)


def _write_parameter(name: str, schema: Mapping[str, Any]) -> list[str]:
    lines = ["<parameter>", f"<name>{name}</name>"]
    for key, value in schema.items():
        if key != "name":
            lines.append(f"<{key}>{value if isinstance(value, str) else dump_json(value)}</{key}>")
    lines.append("</parameter>")
    return lines


def _write_call(name: str, arguments: str) -> str:
    value = arguments_value(arguments)
    lines = ["<tool_call>", f"<function={name}>"]
    if isinstance(value, Mapping):
        for key, item in value.items():
            lines.append(f"<parameter={key}>\n{item if isinstance(item, str) else dump_json(item)}\n</parameter>")
    lines.extend(["</function>", "</tool_call>"])
    return "\n".join(lines)


XML = Dialect("xml", _write_tools, _write_call, write_responses)
