"""Reading a tool call out of the text that stands for it, once that text is complete.

Where the text begins and ends is decided by `scanner`; here it is turned into a name and arguments. Every form
seen from models is understood: the keys in any order, other words for the keys, a list of calls, the call inside
`function`, arguments as a JSON string, arguments beside the name, XML parameters.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qwen_agentkit.llm.arguments import ReadJson, dump_json, read_json, repair_arguments
from qwen_agentkit.llm.dialects.marks import FUNCTION_OPEN
from qwen_agentkit.llm.json_scan import value_end

NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "params")
# Keys that may stand beside the name and are not arguments.
_OTHER_KEYS = frozenset({"type", "id", "index", "tool_call_id", "function_id"})
CALL_KEYS = frozenset({*NAME_KEYS, *ARGUMENT_KEYS, *_OTHER_KEYS})

_NAME = re.compile(r"[\w.:/-]{1,128}\Z")
_WHOLE_NAME = re.compile(r"""["']?(?:name|tool|tool_name|function_name|function)["']?\s*:\s*(["'])[^"']+\1""")
_NO_TOOL = frozenset({"none", "null", "n/a", "na", "no", "nothing", "finish", "final"})

_PARAMETER_OPEN = re.compile(r"<parameter(?:=|\s+name\s*=)\s*[\"']?([^\"'>\n]+)[\"']?\s*>")
_PARAMETER_END = re.compile(r"</parameter>(?=\s*(?:<parameter[= ]|</function>|</tool_call>|\Z))")
_PARAMETER_NEXT = re.compile(r"\n\s*(?=<parameter[= ]|</function>\s*(?:</tool_call>|\Z))")
_CODE = re.compile(r"<code>\n?(.*?)\n?(?:</code>|\Z)", re.DOTALL)
_ARGUMENT_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


@dataclass(frozen=True)
class ParsedCall:
    """A tool call as it was read.

    Args:
        name: Name of the tool, as the list of offered tools spells it where that is clear.
        arguments: JSON text of the arguments; the model's own text where no object could be read.
        repaired: What was repaired, in a few words, or None.
        cut: The text ended inside the call.
        id: The id under which the call was told of while it was written, None when it was not.
    """

    name: str
    arguments: str
    repaired: str | None = None
    cut: bool = False
    id: str | None = None


class ToolNames:
    """The offered tools: which names are known, and of what type their parameters are.

    Args:
        functions: Schemas of the tools, with or without OpenAI's `type`/`function` wrapper; None where unknown.
    """

    def __init__(self, functions: Iterable[Mapping[str, Any]] | None) -> None:
        self._properties: dict[str, Any] = {}
        for function in functions or ():
            inner = function.get("function")
            held = inner if isinstance(inner, Mapping) else function
            name = held.get("name")
            if isinstance(name, str) and name:
                self._properties[name] = _properties(held.get("parameters"))
        self._loose: dict[str, str] = {}
        for name in self._properties:
            self._loose.setdefault(_loosened(name), name)

    def __bool__(self) -> bool:
        return bool(self._properties)

    @property
    def only(self) -> str | None:
        """The one tool's name, where exactly one is offered."""
        return next(iter(self._properties)) if len(self._properties) == 1 else None

    def resolve(self, name: str) -> str | None:
        """The offered name that is meant: the same, or the same but for case, quotes, `functions.` and `_`/`-`."""
        if name in self._properties:
            return name
        return self._loose.get(_loosened(name))

    def type_of(self, name: str, parameter: str) -> Any:
        """The JSON schema of a parameter, or None where it is not known."""
        properties = self._properties.get(name)
        return properties.get(parameter) if isinstance(properties, Mapping) else None


def _properties(parameters: Any) -> dict[str, Any]:
    if isinstance(parameters, Mapping):
        held = parameters.get("properties")
        return dict(held) if isinstance(held, Mapping) else {}
    if isinstance(parameters, Sequence) and not isinstance(parameters, str):  # Qwen-Agent's list form
        return {item["name"]: item for item in parameters if isinstance(item, Mapping) and "name" in item}
    return {}


def _loosened(name: str) -> str:
    name = name.strip().strip("`'\"*").removesuffix("()")
    for prefix in ("functions.", "function.", "tools.", "tool.", "default_api."):
        name = name.removeprefix(prefix)
    return re.sub(r":\d+\Z", "", name).replace("\\_", "_").replace("-", "_").lower()


def settle_name(call: ParsedCall, names: ToolNames) -> ParsedCall | None:
    """The call under the offered tool's own spelling; None when its name can be no tool's name."""
    known = names.resolve(call.name)
    if known is not None:
        if known == call.name:
            return call
        return replace(call, name=known, repaired=_joined(call.repaired, "name"))
    name = call.name.strip().strip("`'\"*").removesuffix("()")
    if not _NAME.match(name) or name.lower() in _NO_TOOL:
        return None
    return replace(call, name=name)


def calls_from_json(text: str, names: ToolNames, *, cut: bool = False) -> list[ParsedCall] | None:
    """Reads calls written as JSON.

    Args:
        text: From the opening bracket on.
        names: The offered tools.
        cut: The reply ended before the value was closed (as against a bracket that was forgotten).

    Returns:
        The calls; None when the text is no call.
    """
    try:
        read = read_json(text)
    except ValueError:
        return None
    items = read.value if isinstance(read.value, list) else [read.value]
    named = not cut or _WHOLE_NAME.search(text) is not None
    calls: list[ParsedCall] = []
    for position, item in enumerate(items):
        last = position == len(items) - 1
        call = _call_of(item, read, names, cut and last) if named else None
        if call is None:
            return calls if cut and last and calls else None
        calls.append(call)
    return calls or None


def _call_of(item: Any, read: ReadJson, names: ToolNames, cut: bool) -> ParsedCall | None:
    if not isinstance(item, Mapping):
        return None
    inner = item.get("function")
    if isinstance(inner, Mapping):
        item = inner
    repaired = read.repaired
    name = next((item[key] for key in NAME_KEYS if isinstance(item.get(key), str) and item[key].strip()), None)
    key = next((key for key in ARGUMENT_KEYS if key in item), None)
    if name is None:
        if key is None or names.only is None or cut:
            return None
        name, repaired = names.only, _joined(repaired, "name")
    if key is None and cut and names.resolve(name) is None:
        return None
    if key is not None:
        given = item[key]
    else:
        given = {k: v for k, v in item.items() if k not in NAME_KEYS and k not in _OTHER_KEYS}
        if given:
            repaired = _joined(repaired, "arguments beside the name")
    if given is None or isinstance(given, (str, Mapping)):
        held = repair_arguments(given, truncated=cut)
        cut = cut or held.cut
        # A string is how the OpenAI protocol itself writes arguments: no repair.
        return ParsedCall(name, held.arguments_json, _joined(repaired, held.repaired), cut)
    return ParsedCall(name, dump_json(given), repaired, cut)


def calls_from_xml(text: str, names: ToolNames, *, cut: bool = False) -> list[ParsedCall] | None:
    """Reads one call of Qwen3-Coder's form: ``<function=name><parameter=key>value</parameter></function>``.

    Values are text; they become what the tool's schema says. One newline after the opening tag and one before the
    closing tag belong to the form, not to the value.
    """
    opened = FUNCTION_OPEN.match(text)
    if opened is None or not opened[1].strip():
        return None
    name = opened[1].strip()
    known = names.resolve(name) or name
    body = text[opened.end() :]
    arguments: dict[str, Any] = {}
    repaired: str | None = None
    position = 0
    while (found := _PARAMETER_OPEN.search(body, position)) is not None:
        start = found.end()
        end = _PARAMETER_END.search(body, start)
        following = _PARAMETER_NEXT.search(body, start)
        whole = end is not None
        if end is not None and following is not None and following.start() < end.start():
            # A line that begins the next parameter before this one was closed: the closing tag was left out,
            # unless this value was closed at all before it.
            whole = False
        if whole and end is not None:
            value, position = body[start : end.start()], end.end()
        elif following is not None:
            value, position = body[start : following.start()], following.start()
            repaired = "parameter not closed"
        else:
            value = re.sub(r"\s*(?:</function>\s*)?(?:</tool_call>\s*)?\Z", "", body[start:])
            value, position = value.removesuffix("</parameter>"), len(body)
            repaired = "parameter not closed"
        key = found[1].strip()
        arguments[key] = _typed(_framed(value), names.type_of(known, key))
    if not arguments:
        held = body.partition("</function>")[0].strip()
        if held.startswith("{") and value_end(held, 0) is not None:
            read = repair_arguments(held)
            if read.error is None:
                return [ParsedCall(name, read.arguments_json, "JSON in the XML form", cut)]
        if cut and (names.resolve(name) is None or held):
            return None  # a tag that is only named
    return [ParsedCall(name, dump_json(arguments), repaired, cut)]


def _framed(value: str) -> str:
    value = value[2:] if value.startswith("\r\n") else value.removeprefix("\n")
    return value[:-2] if value.endswith("\r\n") else value.removesuffix("\n")


def _typed(value: str, schema: Any) -> Any:
    """The value in the type its schema asks for; text where it does not fit."""
    types = _types(schema)
    plain = value.strip()
    if not types:
        # Nothing is known: only what can hardly be meant as text.
        return _literal(plain, value, (dict, list, bool)) if plain[:1] in "{[" or plain in _BOOLEANS else value
    if "string" in types:
        return None if "null" in types and plain in ("null", "None") else value
    wanted: list[type] = []
    for kind in types:
        wanted.extend(_PYTHON_TYPES.get(kind, ()))
    return _literal(plain, value, tuple(wanted), whole="number" not in types)


_BOOLEANS = frozenset({"true", "false", "True", "False"})
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def _types(schema: Any) -> set[str]:
    if not isinstance(schema, Mapping):
        return set()
    kind = schema.get("type")
    found = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else set()
    for key in ("anyOf", "oneOf"):
        for option in schema.get(key) or ():
            found |= _types(option)
    if not found and isinstance(schema.get("enum"), list):
        found = {"string"} if all(isinstance(item, str) for item in schema["enum"]) else set()
    # Qwen-Agent's list form also says `int`, `str` and the like.
    short = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "dict": "object", "list": "array"}
    return {short.get(item, item) for item in found}


def _literal(plain: str, value: str, wanted: tuple[type, ...], *, whole: bool = False) -> Any:
    read: Any = _NOTHING
    if plain.lower() in ("true", "false") and bool in wanted:
        return plain.lower() == "true"
    for reader in (json.loads, ast.literal_eval):
        try:
            read = reader(plain)
            dump_json(read)
            break
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            read = _NOTHING
    if read is _NOTHING and plain[:1] in "{[":
        try:
            read = read_json(plain).value
        except ValueError:
            return value
    if isinstance(read, bool) and bool not in wanted:
        return value
    if isinstance(read, float) and whole and read.is_integer() and int in wanted:
        return int(read)
    return read if isinstance(read, wanted) else value


_NOTHING = object()


def calls_from_tag(text: str, names: ToolNames, *, cut: bool = False) -> list[ParsedCall] | None:
    """Reads what stands between ``<tool_call>`` and ``</tool_call>``: JSON (one or several), XML, or a name with pairs.

    A ``<code>`` part after the JSON is the argument `code` (Qwen-Agent's SPECIAL_CODE_MODE).
    """
    text = text.strip()
    if text.startswith("<function"):
        calls: list[ParsedCall] = []
        pieces = re.split(r"(?<=</function>)\s*(?=<function)", text)
        for piece in pieces:
            calls.extend(calls_from_xml(piece, names, cut=cut and piece is pieces[-1]) or [])
        return calls or None
    if text[:1] in ("{", "["):
        return calls_from_json_run(text, names, cut)
    fenced = re.match(r"```[\w-]*\s*(?=[{\[])", text)
    if fenced is not None:
        return calls_from_json_run(text[fenced.end() :].removesuffix("```"), names, cut)
    name = re.match(r"([\w.:/-]+)\s*(?=<arg_key>|\Z)", text)
    if name is not None and (names.resolve(name[1]) is not None or "<arg_key>" in text):
        known = names.resolve(name[1]) or name[1]
        arguments = {
            key.strip(): _typed(value, names.type_of(known, key.strip())) for key, value in _ARGUMENT_PAIR.findall(text)
        }
        return [ParsedCall(name[1], dump_json(arguments), None, cut)]
    return None


def calls_from_json_run(text: str, names: ToolNames, cut: bool) -> list[ParsedCall] | None:
    """Reads JSON values one after the other, each a call or a list of calls; brackets too many are passed over."""
    calls: list[ParsedCall] = []
    while text[:1] in ("{", "["):
        end = value_end(text, 0)
        piece, rest = (text, "") if end is None else (text[:end], text[end:].lstrip(" \t\r\n,;"))
        extra = len(rest) - len(rest.lstrip("}] \t\r\n"))
        found = calls_from_json(piece, names, cut=cut and end is None)
        if found is None and end is not None and not calls:
            # A stray quotation mark can make the end look wrong: the whole text is tried.
            found, rest, extra = calls_from_json(text, names, cut=cut), "", 0
        if found is None:
            return calls or None
        if extra and rest[:extra].strip():
            found[-1] = replace(found[-1], repaired=_joined(found[-1].repaired, "extra bracket"))
        calls.extend(found)
        text = rest[extra:]
    code = _CODE.match(text)
    if code is not None and calls:
        held = json.loads(calls[-1].arguments) if calls[-1].arguments.startswith("{") else {}
        held["code"] = code[1]
        calls[-1] = replace(calls[-1], arguments=dump_json(held), cut=calls[-1].cut or cut)
    return calls or None


def call_from_parts(name: str, arguments: str, *, cut: bool = False) -> ParsedCall:
    """A call whose name and arguments stand apart in the text (the `qwen` and `react` dialects)."""
    held = repair_arguments(arguments.strip(), truncated=cut)
    return ParsedCall(name.strip(), held.arguments_json, held.repaired, cut and (held.cut or held.error is not None))


def _joined(*steps: str | None) -> str | None:
    seen = dict.fromkeys(step for step in steps if step)
    return ", ".join(seen) or None
