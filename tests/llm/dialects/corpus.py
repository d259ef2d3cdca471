"""Raw model outputs for every text dialect, with what has to be read in each.

Well-formed outputs are each payload in each surrounding; damaged ones are written out by hand. All are made here.
"""

# ruff: noqa: E501  (a raw output is read more easily on one line)

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FUNCTIONS = [
    {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "exact": {"type": "boolean"},
                "options": {"type": "object"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "ratio": {"type": "number"},
            },
            "required": ["city"],
        },
    },
    {
        "name": "write_file",
        "description": "Writes a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    },
    {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
    {"name": "code_interpreter", "parameters": {"type": "object", "properties": {"code": {"type": "string"}}}},
]

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Output:
    """One raw output.

    Args:
        title: What it shows.
        dialect: The dialect that the model was asked for.
        text: The raw text.
        calls: The calls in it, in order.
        answer: The text that is left, white space aside.
        thought: The thinking that is left, white space aside.
        reasoning: What the server gave as reasoning, before the text.
        finish_reason: The server's word.
        truncated: The last call was cut.
        repaired: Something had to be repaired.
    """

    title: str
    dialect: str
    text: str
    calls: tuple[Call, ...] = ()
    answer: str = ""
    thought: str = ""
    reasoning: str = ""
    finish_reason: str | None = "stop"
    truncated: bool = False
    repaired: bool = False


PAYLOADS: list[Call] = [
    ("get_weather", {"city": "Oslo"}),
    ("get_weather", {"city": "海淀区", "days": 3}),
    ("get_weather", {"city": "São Paulo 🌦", "exact": True, "ratio": 0.5}),
    ("get_weather", {"city": "x", "options": {"units": ["C", "F"], "deep": {"a": None, "b": [1, {"c": "}"}]}}}),
    ("get_weather", {"city": "x", "tags": ["a, b", "[c]", "{d}"]}),
    ("now", {}),
    ("write_file", {"path": "a.md", "content": "A call is <tool_call>{...}</tool_call> and nothing else."}),
    ("write_file", {"path": "a.md", "content": '```json\n{"name": "now", "arguments": {}}\n```\nend'}),
    ("write_file", {"path": "a.md", "content": "marks: ✿FUNCTION✿: now ✿ARGS✿: {} ✿RESULT✿: 1 ✿RETURN✿"}),
    ("write_file", {"path": "a.md", "content": "line\nObservation: none\nThought: none\nAction: now"}),
    ("write_file", {"path": "a.md", "content": "<think>not a thought</think> </think>"}),
    ("write_file", {"path": "C:\\dir\\new", "content": "quotes \"x\" 'y' and a pattern \\d+\\."}),
    ("write_file", {"path": "a.md", "content": "see </parameter> or </function> in the text, and </tool_response>"}),
    ("code_interpreter", {"code": 'for i in range(3):\n    print(f"{i}: {{}}")\n\n# "done"'}),
    ("write_file", {"path": "long.txt", "content": "0123456789 " * 60 + "end"}),
]

# ---- how each dialect writes a call


def nous(name: str, arguments: dict[str, Any]) -> str:
    held = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{held}\n</tool_call>"


def xml(name: str, arguments: dict[str, Any]) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def qwen(name: str, arguments: dict[str, Any]) -> str:
    return f"✿FUNCTION✿: {name}\n✿ARGS✿: {json.dumps(arguments, ensure_ascii=False)}"


def react(name: str, arguments: dict[str, Any]) -> str:
    return f"Action: {name}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}"


def fenced(name: str, arguments: dict[str, Any]) -> str:
    held = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, indent=2)
    return f"```json\n{held}\n```"


WRITERS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "nous": nous,
    "xml": xml,
    "qwen": qwen,
    "react": react,
    "fenced": fenced,
}


def well_formed(dialect: str) -> list[Output]:
    """Each payload in each surrounding."""
    write = WRITERS[dialect]
    outputs: list[Output] = []
    for number, (name, arguments) in enumerate(PAYLOADS):
        call = write(name, arguments)
        one = ((name, arguments),)
        other = PAYLOADS[(number + 3) % len(PAYLOADS)]
        title = f"{name} {number}"
        before = "I'll look: a < b, {x: [1]}, `now`, 5% ✿ and <tool_ call>."
        outputs += [
            Output(f"{title} alone", dialect, call, one),
            Output(f"{title} after a blank line", dialect, f"\n\n{call}\n", one),
            Output(f"{title} after text", dialect, f"{before}\n{call}", one, before),
            Output(f"{title} before text", dialect, f"{call}\n\nDone < 3 & fine.", one, "Done < 3 & fine."),
            Output(f"{title} between text", dialect, f"One.\n{call}\nTwo.", one, "One.Two."),
            Output(f"{title} after thinking", dialect, f"<think>\nhm, {{1}}\n</think>\n\n{call}", one, "", "hm,{1}"),
            Output(f"{title} after the server's reasoning", dialect, call, one, "", "I think.", "I think."),
            Output(f"{title} and another", dialect, f"{call}\n{write(*other)}", (*one, other)),
            Output(f"{title}, text, another", dialect, f"{call}\nAnd\n{write(*other)}\n", (*one, other), "And"),
        ]
    return outputs


# ---- what goes wrong

W = ("get_weather", {"city": "Oslo"})
N = ("now", {})


def _out(dialect: str, title: str, text: str, *calls: Call, answer: str = "", **rest: Any) -> Output:
    return Output(title, dialect, text, calls, answer, **rest)


def damaged_nous() -> list[Output]:
    d = "nous"
    whole = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    cut = {"truncated": True, "repaired": True}
    return [
        _out(d, "no closing tag", f"<tool_call>\n{whole}", W),
        _out(d, "no closing tag, then text", f"<tool_call>\n{whole}\nSo be it.", W, answer="Sobeit."),
        _out(d, "no closing tag between two", f"<tool_call>{whole}\n<tool_call>{whole}</tool_call>", W, W),
        _out(d, "compact", f"<tool_call>{whole}</tool_call>", W),
        _out(d, "compact, two in a row", f"<tool_call>{whole}</tool_call><tool_call>{whole}</tool_call>", W, W),
        _out(d, "name last", '<tool_call>{"arguments": {"city": "Oslo"}, "name": "get_weather"}</tool_call>', W),
        _out(d, "no space after the colon", '<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>', W),
        _out(d, "parameters instead", '<tool_call>{"name": "get_weather", "parameters": {"city": "Oslo"}}</tool_call>', W),
        _out(d, "args instead", '<tool_call>{"tool": "get_weather", "args": {"city": "Oslo"}}</tool_call>', W),
        _out(
            d,
            "wrapped in function",
            '<tool_call>{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}</tool_call>',
            W,
        ),
        _out(
            d,
            "arguments as text",
            '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
            W,
        ),
        _out(d, "arguments null", '<tool_call>{"name": "now", "arguments": null}</tool_call>', N),
        _out(d, "arguments empty text", '<tool_call>{"name": "now", "arguments": ""}</tool_call>', N),
        _out(d, "no arguments", '<tool_call>{"name": "now"}</tool_call>', N),
        _out(
            d,
            "arguments beside the name",
            '<tool_call>{"name": "get_weather", "city": "Oslo"}</tool_call>',
            W,
            repaired=True,
        ),
        _out(d, "one brace too many", f"<tool_call>{whole}}}</tool_call>", W, repaired=True),
        _out(d, "two braces too many", f"<tool_call>\n{whole}}}}}\n</tool_call>", W, repaired=True),
        _out(d, "one brace too few", f"<tool_call>{whole[:-1]}</tool_call>", W, repaired=True),
        _out(d, "two braces too few", f"<tool_call>{whole[:-2]}\n</tool_call>", W, repaired=True),
        _out(
            d, "single quotes", "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool_call>", W, repaired=True
        ),
        _out(
            d,
            "Python literal",
            "<tool_call>{'name': 'get_weather', 'arguments': {'city': \"it's\", 'exact': True}}</tool_call>",
            ("get_weather", {"city": "it's", "exact": True}),
            repaired=True,
        ),
        _out(
            d, "trailing comma", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo",},}</tool_call>', W, repaired=True
        ),
        _out(d, "bare keys", '<tool_call>{name: "get_weather", arguments: {city: "Oslo"}}</tool_call>', W, repaired=True),
        _out(
            d,
            "comment",
            '<tool_call>{"name": "get_weather", // the tool\n"arguments": {"city": "Oslo"}}</tool_call>',
            W,
            repaired=True,
        ),
        _out(
            d,
            "line break in a string",
            '<tool_call>\n{"name": "write_file", "arguments": {"content": "a\nb"}}\n</tool_call>',
            ("write_file", {"content": "a\nb"}),
            repaired=True,
        ),
        _out(
            d,
            "stray quotation mark",
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "5" tall"}}\n</tool_call>',
            ("get_weather", {"city": '5" tall'}),
            repaired=True,
        ),
        _out(
            d,
            "stray quotation mark, compact, then another",
            f'<tool_call>{{"name": "get_weather", "arguments": {{"city": "5" tall"}}}}</tool_call><tool_call>{whole}</tool_call>',
            ("get_weather", {"city": '5" tall'}),
            W,
            repaired=True,
        ),
        _out(
            d,
            "quoted words in a string",
            '<tool_call>{"name": "write_file", "arguments": {"content": "say "hi" to all"}}</tool_call>',
            ("write_file", {"content": 'say "hi" to all'}),
            repaired=True,
        ),
        _out(
            d,
            "pattern with a backslash",
            '<tool_call>{"name": "write_file", "arguments": {"content": "\\d+"}}</tool_call>',
            ("write_file", {"content": "\\d+"}),
            repaired=True,
        ),
        _out(d, "fence inside the tag", f"<tool_call>\n```json\n{whole}\n```\n</tool_call>", W),
        _out(d, "tag inside a fence", f"```xml\n<tool_call>\n{whole}\n</tool_call>\n```\nDone", W, answer="Done"),
        _out(d, "two tags inside a fence", f"```\n<tool_call>\n{whole}\n</tool_call>\n<tool_call>\n{whole}\n</tool_call>\n```", W, W),
        _out(d, "list of calls", f"<tool_call>[{whole}, {whole}]</tool_call>", W, W),
        _out(d, "two objects in a tag", f"<tool_call>\n{whole}\n{whole}\n</tool_call>", W, W),
        _out(d, "function_call tag", f"<function_call>{whole}</function_call>", W),
        _out(d, "tools tag", f"<tools>\n{whole}\n</tools>", W),
        _out(d, "cut in the value", '<tool_call>{"name": "get_weather", "arguments": {"city": "Os', ("get_weather", {"city": "Os"}), finish_reason="length", **cut),
        _out(d, "cut in the value though it says stop", '<tool_call>{"name": "get_weather", "arguments": {"city": "Os', ("get_weather", {"city": "Os"}), **cut),
        _out(d, "cut behind the value", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"', W, finish_reason="length", **cut),
        _out(d, "bracket forgotten at the end", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}', W, repaired=True),
        _out(d, "cut before the arguments", '<tool_call>{"name": "now"', N, finish_reason="length", **cut),
        _out(d, "cut in the name", '<tool_call>{"name": "get_wea', answer='<tool_call>{"name":"get_wea', finish_reason="length"),
        _out(d, "cut in the tag", "Well <tool_c", answer="Well<tool_c", finish_reason="length"),
        _out(d, "cut in the closing tag", f"<tool_call>{whole}</tool_", W, answer="</tool_", finish_reason="length"),
        _out(d, "tag named in text", "Use <tool_call> tags, as in <tool_call> and </tool_call>.", answer="Use<tool_call>tags,asin<tool_call>and</tool_call>."),
        _out(d, "tag named, then a call", f"I write <tool_call> now.\n<tool_call>{whole}</tool_call>", W, answer="Iwrite<tool_call>now."),
        _out(d, "JSON that is no call", '<tool_call>{"a": 1}</tool_call>', answer='<tool_call>{"a":1}</tool_call>'),
        _out(d, "empty tag", "<tool_call></tool_call>", answer="<tool_call></tool_call>"),
        _out(d, "unlisted tool", '<tool_call>{"name": "ghost", "arguments": {"x": 1}}</tool_call>', ("ghost", {"x": 1})),
        _out(d, "name in other case", '<tool_call>{"name": "Get-Weather", "arguments": {"city": "Oslo"}}</tool_call>', W, repaired=True),
        _out(d, "name with a prefix", '<tool_call>{"name": "functions.now", "arguments": {}}</tool_call>', N, repaired=True),
        _out(d, "call inside thinking", f"<think>I need it.\n<tool_call>\n{whole}\n</tool_call>\n</think>", W, thought="Ineedit.<tool_call>" + whole.replace(" ", "") + "</tool_call>"),
        _out(d, "call inside thinking never closed", f"<think>I need it.\n<tool_call>\n{whole}\n</tool_call>", W, thought="Ineedit.<tool_call>" + whole.replace(" ", "") + "</tool_call>"),
        _out(d, "call only thought about", f"<think>Not <tool_call>{whole}</tool_call> today.</think>\nHello.", answer="Hello.", thought="Not<tool_call>" + whole.replace(" ", "") + "</tool_call>today."),
        _out(d, "thought about, then made", f'<think>Maybe <tool_call>{whole}</tool_call></think>\n<tool_call>{{"name": "now"}}</tool_call>', N, thought="Maybe<tool_call>" + whole.replace(" ", "") + "</tool_call>"),
        _out(d, "call in the server's reasoning", "", W, reasoning=f"So: <tool_call>{whole}</tool_call>", thought="So:<tool_call>" + whole.replace(" ", "") + "</tool_call>"),
        _out(d, "call beside thinking", f"<think>a</think><tool_call>{whole}</tool_call><think>b</think>", W, thought="ab"),
        _out(d, "code behind the JSON", '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": ""}}\n<code>\nprint("{")\n</code>\n</tool_call>', ("code_interpreter", {"code": 'print("{")'})),
        _out(d, "code cut", '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": ""}}\n<code>\nprint(1)', ("code_interpreter", {"code": "print(1)"}), finish_reason="length", truncated=True),
        _out(d, "name and pairs", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>", W),
        _out(d, "made-up result behind", f"<tool_call>{whole}</tool_call>\n<tool_response>\n21\n</tool_response>", W, answer="<tool_response>21</tool_response>"),
        _out(d, "bare JSON", whole, W),
        _out(d, "bare JSON list", f"[{whole}]", W),
        _out(d, "bare JSON, two", f"{whole}; {whole}", W, W),
        _out(d, "JSON answer", '{"name": "Ann", "age": 3}', answer='{"name":"Ann","age":3}'),
        _out(d, "JSON answer that is no object", "[1, 2, 3]", answer="[1,2,3]"),
        _out(d, "white space before the call", f" <tool_call>{whole}</tool_call>", W),
        _out(d, "end of the turn written out", f"<tool_call>{whole}<|im_end|>", W, answer="<|im_end|>"),
    ]  # fmt: skip


def damaged_xml() -> list[Output]:
    d = "xml"
    body = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
    two = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>"
    return [
        _out(d, "no outer tag", body, W),
        _out(d, "no opening tag", f"{body}\n</tool_call>", W),
        _out(d, "no closing tag", f"<tool_call>\n{body}", W),
        _out(d, "no closing function", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</tool_call>", W),
        _out(d, "one line", "<tool_call><function=get_weather><parameter=city>Oslo</parameter></function></tool_call>", W),
        _out(d, "two functions in a tag", f"<tool_call>\n{body}\n{body}\n</tool_call>", W, W),
        _out(d, "parameter not closed", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>", ("get_weather", {"city": "Oslo", "days": 2}), repaired=True),
        _out(d, "last parameter not closed", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</function>\n</tool_call>", W, repaired=True),
        _out(d, "types by the schema", two.replace("2", " 2 "), ("get_weather", {"city": "Oslo", "days": 2})),
        _out(d, "number stays text where text is wanted", body.replace("Oslo", "0123"), ("get_weather", {"city": "0123"})),
        _out(d, "whole number written as a fraction", two.replace("2", "2.0"), ("get_weather", {"city": "Oslo", "days": 2})),
        _out(d, "word where a number is wanted", two.replace("2", "two"), ("get_weather", {"city": "Oslo", "days": "two"})),
        _out(d, "truth value", "<function=get_weather><parameter=exact>True</parameter></function>", ("get_weather", {"exact": True})),
        _out(d, "object value", '<function=get_weather><parameter=options>{"a": [1, 2]}</parameter></function>', ("get_weather", {"options": {"a": [1, 2]}})),
        _out(d, "object as a Python literal", "<function=get_weather><parameter=options>{'a': None}</parameter></function>", ("get_weather", {"options": {"a": None}})),
        _out(d, "unknown parameter stays text", "<function=get_weather><parameter=zip>0123</parameter></function>", ("get_weather", {"zip": "0123"})),
        _out(d, "indented value kept", "<function=code_interpreter>\n<parameter=code>\n    x = 1\n    y = 2\n</parameter>\n</function>", ("code_interpreter", {"code": "    x = 1\n    y = 2"})),
        _out(d, "blank lines kept", "<function=code_interpreter>\n<parameter=code>\n\nx\n\n</parameter>\n</function>", ("code_interpreter", {"code": "\nx\n"})),
        _out(d, "empty value", "<function=get_weather>\n<parameter=city>\n</parameter>\n</function>", ("get_weather", {"city": ""})),
        _out(d, "Windows line ends", body.replace("\n", "\r\n"), W),
        _out(d, "no parameters", "<tool_call>\n<function=now>\n</function>\n</tool_call>", N),
        _out(d, "name attributes", '<function name="get_weather"><parameter name="city">Oslo</parameter></function>', W),
        _out(d, "JSON inside", '<tool_call>\n<function=get_weather>\n{"city": "Oslo"}\n</function>\n</tool_call>', W, repaired=True),
        _out(d, "cut in a value", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOs", ("get_weather", {"city": "Os"}), finish_reason="length", truncated=True, repaired=True),
        _out(d, "cut between parameters", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n", W, finish_reason="length", truncated=True),
        _out(d, "stopped between parameters", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n", W),
        _out(d, "cut in the name", "<tool_call>\n<function=get_we", answer="<tool_call><function=get_we", finish_reason="length"),
        _out(d, "unlisted tool", "<tool_call>\n<function=ghost>\n</function>\n</tool_call>", ("ghost", {})),
        _out(d, "function named in text", "Write <function=name> like this.", answer="Write<function=name>likethis.", finish_reason="length"),
        _out(d, "call inside thinking", f"<think>\n{body}\n</think>", W, thought=body.replace("\n", "")),
        _out(d, "text behind", f"<tool_call>\n{body}\n</tool_call>\nI wait.", W, answer="Iwait."),
        _out(d, "inside a fence", f"```xml\n{body}\n```", W),
        _out(d, "nous form instead", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>', W),
    ]  # fmt: skip


def damaged_qwen() -> list[Output]:
    d = "qwen"
    call = '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}'
    return [
        _out(d, "made-up result", f"{call}\n✿RESULT✿: 21 degrees\n✿RETURN✿: It is 21.", W),
        _out(d, "made-up result, then another call", f"{call}\n✿RESULT✿: 21\n{call}", W),
        _out(d, "text first", f"Let me see.\n{call}\n", W, answer="Letmesee."),
        _out(d, "no colons", '✿FUNCTION✿ get_weather\n✿ARGS✿ {"city": "Oslo"}', W),
        _out(d, "full-width colons", '✿FUNCTION✿：get_weather\n✿ARGS✿：{"city": "Oslo"}', W),
        _out(d, "one line", '✿FUNCTION✿: get_weather ✿ARGS✿: {"city": "Oslo"}', W),
        _out(d, "no marks of arguments", '✿FUNCTION✿: get_weather\n{"city": "Oslo"}', W),
        _out(d, "no arguments at all", "✿FUNCTION✿: now\n✿RESULT✿: 3", N),
        _out(d, "no arguments, end of text", "✿FUNCTION✿: now", N),
        _out(d, "no arguments between two", f"✿FUNCTION✿: now\n{call}", N, W),
        _out(d, "empty arguments", "✿FUNCTION✿: now\n✿ARGS✿: \n✿RESULT✿", N),
        _out(d, "arguments in a fence", '✿FUNCTION✿: get_weather\n✿ARGS✿: ```json\n{"city": "Oslo"}\n```\n', W, repaired=True),
        _out(d, "single quotes", "✿FUNCTION✿: get_weather\n✿ARGS✿: {'city': 'Oslo'}\n", W, repaired=True),
        _out(d, "bracket too many", call + "}", W, repaired=True),
        _out(d, "bracket forgotten", call[:-1] + "\n✿RESULT✿: 1", W, repaired=True),
        _out(d, "comment behind", call + "\n# the city\n", W, answer="#thecity"),
        _out(d, "cut in a value", call[:-4], ("get_weather", {"city": "Os"}), finish_reason="length", truncated=True, repaired=True),
        _out(d, "cut in the mark", "Well ✿FUNC", answer="Well✿FUNC", finish_reason="length"),
        _out(d, "cut in the name", "✿FUNCTION✿: get_we", answer="✿FUNCTION✿:get_we", finish_reason="length"),
        _out(d, "goes on behind the mark of the answer", ": It is 21.", answer="Itis21."),
        _out(d, "the mark of the answer written again", "✿RETURN✿: It is 21.", answer="Itis21."),
        _out(d, "flowers in the text", "A ✿ flower ✿✿.", answer="A✿flower✿✿."),
        _out(d, "mark in the text", "The mark ✿FUNCTION✿ begins a call.", answer="Themark✿FUNCTION✿beginsacall."),
        _out(d, "unlisted tool", '✿FUNCTION✿: ghost\n✿ARGS✿: {"a": 1}\n', ("ghost", {"a": 1})),
        _out(d, "call inside thinking", f"<think>I call.\n{call}\n</think>", W, thought="Icall." + call.replace("\n", "").replace(" ", "")),
        _out(d, "mark inside a string", '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "a ✿RESULT✿: b"}\n✿RESULT✿: 1', ("get_weather", {"city": "a ✿RESULT✿: b"})),
        _out(d, "line ends in a string", '✿FUNCTION✿: code_interpreter\n✿ARGS✿: {"code": "a\nb"}\n', ("code_interpreter", {"code": "a\nb"}), repaired=True),
        _out(d, "many blank lines", '✿FUNCTION✿: get_weather\n\n✿ARGS✿:\n\n{"city": "Oslo"}\n\n', W),
    ]  # fmt: skip


def damaged_react() -> list[Output]:
    d = "react"
    call = 'Action: get_weather\nAction Input: {"city": "Oslo"}'
    return [
        _out(d, "thought first", f"Thought: I need the weather.\n{call}", W, answer="Thought:Ineedtheweather."),
        _out(d, "made-up observation", f"{call}\nObservation: 21\nThought: fine\nFinal Answer: 21", W),
        _out(d, "no tool needed", "Action: no tool needed\nAction Input: None", answer="Action:notoolneededActionInput:None"),
        _out(d, "none", "Action: None\nAction Input: None", answer="Action:NoneActionInput:None"),
        _out(d, "answer only", "Thought: easy.\nFinal Answer: 4", answer="Thought:easy.FinalAnswer:4"),
        _out(d, "name in backticks", call.replace("get_weather", "`get_weather`"), W, repaired=True),
        _out(d, "name with brackets", call.replace("get_weather", "get_weather()"), W, repaired=True),
        _out(d, "escaped name", call.replace("get_weather", "get\\_weather"), W, repaired=True),
        _out(d, "unlisted tool", 'Action: ghost\nAction Input: {"a": 1}', ("ghost", {"a": 1})),
        _out(d, "fenced input", 'Action: get_weather\nAction Input: ```json\n{"city": "Oslo"}\n```', W, repaired=True),
        _out(d, "input on its own line", 'Action: get_weather\nAction Input:\n{"city": "Oslo"}', W),
        _out(d, "blank line between", 'Action: get_weather\n\nAction Input: {"city": "Oslo"}', W),
        _out(d, "several lines of JSON", 'Action: get_weather\nAction Input: {\n  "city": "Oslo"\n}\n', W),
        _out(d, "single quotes", "Action: get_weather\nAction Input: {'city': 'Oslo'}", W, repaired=True),
        _out(d, "bracket too many", call + "}", W, repaired=True),
        _out(d, "bracket forgotten", call[:-1] + "\nObservation: 3", W, repaired=True),
        _out(d, "two pairs", f"{call}\nAction: now\nAction Input: {{}}", W, N),
        _out(d, "input null", "Action: now\nAction Input: null\nObservation: 1", N),
        _out(d, "cut in a value", call[:-4], ("get_weather", {"city": "Os"}), finish_reason="length", truncated=True, repaired=True),
        _out(d, "cut before the input", "Action: get_weather\nAction In", answer="Action:get_weatherActionIn", finish_reason="length"),
        _out(d, "cut in the name", "Thought: a\nAction: get_w", answer="Thought:aAction:get_w", finish_reason="length"),
        _out(d, "Action in a sentence", "Take Action: now\nAction Input: {}", answer="TakeAction:nowActionInput:{}"),
        _out(d, "Action without input", "Action: run away\nand hide", answer="Action:runawayandhide"),
        _out(d, "text behind", f"{call}\nI wait.", W, answer="Iwait."),
        _out(d, "Windows line ends", call.replace("\n", "\r\n"), W),
        _out(d, "after thinking", f"<think>x</think>\n{call}", W, thought="x"),
    ]  # fmt: skip


def damaged_fenced() -> list[Output]:
    d = "fenced"
    whole = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    return [
        _out(d, "no language", f"```\n{whole}\n```", W),
        _out(d, "other language", f"```tool_call\n{whole}\n```", W),
        _out(d, "no line ends", f"```json {whole} ```", W),
        _out(d, "fence not closed", f"```json\n{whole}", W),
        _out(d, "bare object", whole, W),
        _out(d, "list", f"```json\n[{whole}, {whole}]\n```", W, W),
        _out(d, "two objects", f"```json\n{whole}\n{whole}\n```", W, W),
        _out(d, "text around", f"So:\n```json\n{whole}\n```\nI wait.", W, answer="So:Iwait."),
        _out(d, "parameters instead", '```json\n{"name": "get_weather", "parameters": {"city": "Oslo"}}\n```', W),
        _out(d, "name last", '```json\n{"arguments": {"city": "Oslo"}, "name": "get_weather"}\n```', W),
        _out(d, "unlisted tool", '```json\n{"name": "ghost", "arguments": {}}\n```', ("ghost", {})),
        _out(d, "single quotes", "```json\n{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}\n```", W, repaired=True),
        _out(d, "trailing comma", '```json\n{"name": "get_weather", "arguments": {"city": "Oslo",}}\n```', W, repaired=True),
        _out(d, "bracket forgotten", f"```json\n{whole[:-1]}\n```", W, repaired=True),
        _out(d, "bracket too many", f"```json\n{whole}}}\n```", W),
        _out(d, "data in a fence", '```json\n{"title": "x", "rows": [1, 2]}\n```', answer='```json{"title":"x","rows":[1,2]}```'),
        _out(d, "list of data", "```json\n[1, 2]\n```", answer="```json[1,2]```"),
        _out(d, "code in a fence", "```python\nprint({1: 2})\n```\nDone", answer="```pythonprint({1:2})```Done"),
        _out(d, "empty object in a fence", "```json\n{}\n```", answer="```json{}```"),
        _out(d, "data, then a call", f'```json\n{{"a": 1}}\n```\n```json\n{whole}\n```', W, answer='```json{"a":1}```'),
        _out(d, "fence within a string", '```json\n{"name": "write_file", "arguments": {"content": "```\\nx\\n```"}}\n```', ("write_file", {"content": "```\nx\n```"})),
        _out(d, "cut in a value", '```json\n{"name": "get_weather", "arguments": {"city": "Os', ("get_weather", {"city": "Os"}), finish_reason="length", truncated=True, repaired=True),
        _out(d, "cut in the name", '```json\n{"name": "get_we', answer='```json{"name":"get_we', finish_reason="length"),
        _out(d, "inline code", "Use ```x``` here.", answer="Use```x```here."),
        _out(d, "longer fence", f"````json\n{whole}\n````", W, answer="`"),
        _out(d, "after thinking", f"<think>x</think>\n```json\n{whole}\n```", W, thought="x"),
    ]  # fmt: skip


def plain_text() -> list[Output]:
    """Outputs without any call: nothing of them may be lost or held back."""
    texts = [
        "Hello.", "a < b and c > d", "<b>bold</b> & <i>it</i>", "{not json", "[list] of {things}", "1. one\n2. two\n\n- x",
        "```\ncode\n```", "```python\nif a < b:\n    pass\n```", "✿", "✿FUNC", "<tool_call", "<", "`", "``", "Action", "Action:",
        "Observation: I see.", "</tool_call>", "</function>", "<|im_end|>", "The <think> tag", "x</think>y", "$a^{b}$", "| a | b |",
        "Ünï-cödé 你好 🙂", "a" * 500, "\\(x\\)", "Use `<tool_call>` here", "<<<<", "< tool_call>", "<TOOL_CALL>x</TOOL_CALL>",
        "Thought: none", "https://x.y/?a={b}&c=[d]", "{\"a\": 1}", "[]", "{}", "\"quoted\"", "null", "<tools>none</tools>",
    ]  # fmt: skip
    outputs = [Output(f"plain {text[:20]!r}", d, text, (), text) for text in texts for d in ("nous", "react")]
    outputs += [
        Output("thinking only", "nous", "<think>only\nthis</think>", (), "", "only\nthis"),
        Output("thinking never closed", "nous", "<think>only\nthis", (), "", "only\nthis"),
        Output("empty thinking", "nous", "<think>\n\n</think>\n\nHi", (), "Hi", ""),
        Output("thinking, then text", "nous", "<think>a < b</think>\nHi", (), "Hi", "a < b"),
        Output("long tag", "nous", "<thinking>a</thinking>Hi", (), "Hi", "a"),
        Output("nothing", "nous", "", (), ""),
        Output("white space", "nous", " \n ", (), ""),
        Output("stray end of thinking", "nous", "I thought.\n</think>\n\nHi", (), "I thought.Hi"),
    ]
    return outputs


def corpus() -> dict[str, list[Output]]:
    """All outputs, by family."""
    damaged = {
        "nous": damaged_nous,
        "xml": damaged_xml,
        "qwen": damaged_qwen,
        "react": damaged_react,
        "fenced": damaged_fenced,
    }
    return {name: [*well_formed(name), *damaged[name]()] for name in WRITERS} | {"plain": plain_text()}
