"""Reading the JSON that models write: tolerant, and every repair is told.

`repair_arguments` is for the arguments of a tool call, `read_json` for any JSON value in a model's text. The
order is fixed and stops at the first step that gives a value: strict JSON, code fences taken off, the first
balanced object, JSON5, a Python literal, json-repair (which also closes what was cut off).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.llm.json_scan import JsonScanner

# The json5 parser is slow (it is quadratic in places); longer texts go to the next step at once.
_JSON5_LIMIT = 20_000
# Letters and digits that a repair may drop (a key that was begun, say); more, and it is no repair.
_MAY_LOSE = 24
_UNICODE_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}")
_EMPTY = frozenset({"", "null", "none", "undefined"})
_FENCE = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`{\[]*\n?(.*?)\s*(?:\1`*\s*)?\Z", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_MALFORMED = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Repaired:
    """Arguments made ready for a tool.

    Args:
        arguments_json: The arguments as JSON text with Python's default separators, not escaped to ASCII. The
            text as it was given when there is an error.
        repaired: What was done to read them, in a few words; None when they were in order.
        error: One line for the model when no object could be read, else None.
        cut: The text ended inside the object, so what is there may be incomplete.
    """

    arguments_json: str
    repaired: str | None = None
    error: str | None = None
    cut: bool = False


@dataclass(frozen=True)
class ReadJson:
    """A JSON value that was read from text: the value, how it was mended (None: not at all), whether it was cut."""

    value: Any
    repaired: str | None = None
    cut: bool = False


def dump_json(value: Any) -> str:
    """JSON text as tools expect it: Python's default separators, not escaped to ASCII, always encodable.

    Raises:
        TypeError: The value holds something that JSON cannot carry.
    """
    text = json.dumps(value, ensure_ascii=False)
    return _LONE_SURROGATE.sub("\ufffd", text)


def repair_arguments(text: str | Mapping[str, Any] | None, *, truncated: bool = False) -> Repaired:
    """Makes a JSON object of what a model gave as the arguments of a call.

    Args:
        text: The arguments as the model wrote them. "", "null" and None are the empty object.
        truncated: The reply is known to have been cut (by the token limit), so an object that is not closed
            is reported as cut whatever its end looks like.

    Returns:
        The arguments, what was repaired, and an error line where nothing helped.
    """
    if text is None or (isinstance(text, str) and text.strip().lower() in _EMPTY):
        return Repaired("{}")
    if isinstance(text, Mapping):
        return Repaired(dump_json(dict(text)))
    if not isinstance(text, str):
        return Repaired(str(text), error=_not_an_object(text))
    try:
        read = read_json(text, objects_only=True)
    except ValueError as error:
        return Repaired(text, error=f"The arguments are not valid JSON: {error}. A JSON object is wanted.")
    if isinstance(read.value, str):
        return _unwrapped(text, read, truncated)
    if not isinstance(read.value, dict):
        return Repaired(text, error=_not_an_object(read.value))
    cut = read.cut or (truncated and read.repaired is not None)
    return Repaired(dump_json(read.value), read.repaired, None, cut)


def _unwrapped(text: str, read: ReadJson, truncated: bool) -> Repaired:
    """Arguments that are a JSON string holding the object, as some servers send them."""
    if read.value.strip().lower() in _EMPTY:
        return Repaired("{}")
    if "{" not in read.value:
        return Repaired(text, error=_not_an_object(read.value))
    inner = repair_arguments(read.value, truncated=truncated)
    if inner.error:
        return Repaired(text, error=inner.error)
    steps = [step for step in (read.repaired, "quoted twice", inner.repaired) if step]
    return Repaired(inner.arguments_json, ", ".join(steps), None, inner.cut or read.cut)


def _not_an_object(value: Any) -> str:
    kind = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return f"The arguments are {kind.get(type(value), type(value).__name__)}; a JSON object is wanted."


def read_json(text: str, *, objects_only: bool = False) -> ReadJson:
    """Reads a JSON value from a model's text, mending what can be mended.

    Args:
        text: The text; there may be prose or fences around the value.
        objects_only: Look for an object in the prose, not for an array.

    Raises:
        ValueError: Nothing in the text could be read as JSON; the text says why, in one line.
    """
    text = text.lstrip("\ufeff")
    try:
        return ReadJson(_strict(text))
    except _MALFORMED as error:
        first_error = error
    found = _first(text, [], _NEARLY_JSON)
    if found is not None:
        return found
    steps: list[str] = []
    candidate = text.strip()
    fenced = _FENCE.match(candidate)
    if fenced is not None:
        candidate = fenced[2].strip()
        steps.append("code fence")
        found = _first(candidate, steps, _NEARLY_JSON)
        if found is not None:
            return found
    start = candidate.find("{") if objects_only else _start_of_value(candidate)
    if start < 0:
        literal = _first(candidate, steps, [("Python literal", _literal)]) if _is_literal(candidate) else None
        if literal is not None:
            return literal
        raise ValueError(_reason(first_error))
    scanner = JsonScanner()
    end = scanner.scan(candidate, start, len(candidate))
    cut = not scanner.done
    if scanner.done and (start > 0 or end < len(candidate)):
        candidate = candidate[start:end]
        steps.append("text around the object")
        found = _first(candidate, steps, _NEARLY_JSON)
        if found is not None:
            return found
    elif start > 0:
        candidate = candidate[start:]
        steps.append("text before the object")
    readers: list[tuple[str, Callable[[str], Any]]] = [("JSON5", _json5), ("Python literal", _literal)]
    found = None if cut else _first(candidate, steps, readers)
    if found is None:
        # An odd number of stray quotation marks also makes a whole value look cut off.
        found = _first(candidate, steps, [("quotation marks", _with_quotes_escaped)])
    if found is None:
        found = _first(candidate, steps, [("closed and repaired" if cut else "repaired", _repair)], cut)
    if found is None:
        raise ValueError(_reason(first_error))
    return found


def _first(
    candidate: str, steps: list[str], readers: list[tuple[str, Callable[[str], Any]]], cut: bool = False
) -> ReadJson | None:
    for name, read in readers:
        try:
            value = read(candidate)
            dump_json(value)
        except _MALFORMED:
            continue
        return ReadJson(value, ", ".join([*steps, *([name] if name else [])]) or None, cut)
    return None


def _start_of_value(text: str) -> int:
    found = _OPENING.search(text)
    return -1 if found is None else found.start()


def _is_literal(text: str) -> bool:
    return text[:1] in "'\"" or text in ("True", "False", "None")


def _reason(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "nested too deeply" if isinstance(error, RecursionError) else (str(error) or type(error).__name__)


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    # NaN and Infinity are no JSON: servers refuse a history that holds them.
    raise ValueError(f"{constant} is not JSON")


def _with_nan(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None)


def _control_characters(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=lambda _: None)


_LITERAL_ESCAPES = "\"'\\/bfnrtvx0\n\r"
_BACKSLASH = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _escaped_backslashes(text: str, escapes: str) -> str:
    """Doubles each backslash that begins no escape, as in the pattern ``\\d+`` or the path ``C:\\dir``."""

    def mended(found: re.Match[str]) -> str:
        sign = found[1]
        if sign[0] in escapes or (sign[0] == "u" and len(sign) == 5):
            return found[0]
        return "'" if sign == "'" else "\\\\" + sign

    return _BACKSLASH.sub(mended, text)


def _with_backslashes(text: str) -> Any:
    if "\\" not in text:
        raise ValueError("no backslash")
    return json.loads(_escaped_backslashes(text, '"\\/bfnrt'), strict=False, parse_constant=_refuse)


_NEARLY_JSON: list[tuple[str, Callable[[str], Any]]] = [
    ("", _strict),
    ("NaN", _with_nan),
    ("control characters", _control_characters),
    ("backslashes", _with_backslashes),
]


def _json5(text: str) -> Any:
    if len(text) > _JSON5_LIMIT:
        raise ValueError("too long for the JSON5 parser")
    import json5

    return _without_nan(json5.loads(_escaped_backslashes(text, _LITERAL_ESCAPES)))


def _literal(text: str) -> Any:
    return _without_nan(ast.literal_eval(_escaped_backslashes(text, _LITERAL_ESCAPES)))


def _with_quotes_escaped(text: str) -> Any:
    return json.loads(escape_quotes(text), strict=False, parse_constant=lambda _: None)


_QUOTE = re.compile(r'[\\"{}\[\]]')
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_VALUE = re.compile(r'\s*(?:[}\]]|,\s*"[^"\n]*"\s*:|\Z)')
_AFTER_ITEM = re.compile(r'\s*(?:\]|,\s*["{\[\dtfn-]|\Z)')


def escape_quotes(text: str) -> str:
    """Escapes quotation marks that stand inside JSON strings unescaped, as in ``{"size": "5" tall"}``.

    A mark ends a string only where what may follow a key, a value or an item does follow.
    """
    written: list[str] = []
    containers: list[str] = []
    in_string = is_key = False
    copied = position = 0
    while (found := _QUOTE.search(text, position)) is not None:
        position = found.end()
        mark = found[0]
        if mark == "\\":
            position += in_string
        elif mark != '"':
            if not in_string and mark in "{[":
                containers.append(mark)
            elif not in_string and containers:
                containers.pop()
        elif not in_string:
            in_string = True
            before = text[max(0, found.start() - 64) : found.start()].rstrip()[-1:]
            is_key = bool(containers) and containers[-1] == "{" and before in ("{", ",")
        else:
            in_list = bool(containers) and containers[-1] == "["
            ends = _AFTER_KEY if is_key else _AFTER_ITEM if in_list else _AFTER_VALUE
            if ends.match(text, position):
                in_string = False
            else:
                written.append(text[copied : found.start()] + '\\"')
                copied = position
    return "".join([*written, text[copied:]])


def _repair(text: str) -> Any:
    import json_repair

    value = _without_nan(json_repair.loads(text, skip_json_loads=True))
    wanted = dict if text.lstrip().startswith("{") else list
    if not isinstance(value, wanted) or (not value and re.search(r"\w", text)):
        raise ValueError("nothing could be repaired")
    had, has = _signs(text), _signs(dump_json(value))
    if had - has > max(_MAY_LOSE, had // 10):
        raise ValueError("the repair would lose a part")
    return value


def _signs(text: str) -> int:
    """Letters and digits, a ``\\u`` escape being one."""
    return sum(map(str.isalnum, _UNICODE_ESCAPE.sub("x", text)))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
