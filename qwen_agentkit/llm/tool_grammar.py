"""Grammars that keep a local model to valid tool calls, or to an answer in a given form.

Format: GBNF, the grammar language of llama.cpp (https://github.com/ggml-org/llama.cpp/tree/master/grammars). The
calls are written as the `nous` dialect has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_JSON = {
    "ws": r"[ \t\n]{0,8}",
    "string": r'"\"" ( [^"\\\x00-\x1F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} ) )* "\""',
    "integer": r'"-"? ( "0" | [1-9] [0-9]{0,15} )',
    "number": r'"-"? ( "0" | [1-9] [0-9]{0,15} ) ( "." [0-9]{1,15} )? ( [eE] [-+]? [0-9]{1,3} )?',
    "boolean": r'"true" | "false"',
    "null": r'"null"',
    "value": r"object | array | string | number | boolean | null",
    "object": r'"{" ws ( string ws ":" ws value ( ws "," ws string ws ":" ws value )* )? ws "}"',
    "array": r'"[" ws ( value ( ws "," ws value )* )? ws "]"',
}
_OPENING = "<tool_call>"
# A schema that nests deeper than this is any value below.
_MAX_DEPTH = 12


def tool_grammar(functions: Iterable[Mapping[str, Any]], function_choice: str = "auto") -> str:
    """The grammar of a reply that may call tools.

    Args:
        functions: Schemas of the tools.
        function_choice: `auto` allows text, calls, or text and then calls; a tool's name demands one call of it.

    Returns:
        GBNF text whose root is the reply.
    """
    offered = [function for function in functions if function_choice in ("auto", function["name"])]
    if not offered:
        raise ValueError(f"function_choice {function_choice!r} names none of the tools")
    grammar = _Grammar()
    names = []
    for number, function in enumerate(offered):
        schema = function.get("parameters") or {"type": "object", "properties": {}}
        arguments = grammar.rule_of(schema, f"args{number}", schema)
        head = _literal('{"name": ' + json.dumps(function["name"], ensure_ascii=False) + ', "arguments": ')
        names.append(grammar.add(f"call{number}", f'{head} {arguments} "}}"'))
    grammar.add("call", f'"{_OPENING}\\n" ( {" | ".join(names)} ) "\\n</tool_call>"')
    if function_choice != "auto":
        return grammar.text("call")
    grammar.add("text", f"( {' | '.join(_anything_but(_OPENING))} )*")
    return grammar.text('text ( call ( "\\n" call )* )?')


def answer_grammar(schema: Mapping[str, Any]) -> str:
    """The grammar of an answer that fits a JSON schema."""
    grammar = _Grammar()
    return grammar.text(grammar.rule_of(schema, "answer", schema))


class _Grammar:
    """The rules of one grammar, by name."""

    def __init__(self) -> None:
        self._rules: dict[str, str] = {}
        self._by_ref: dict[str, str] = {}

    def text(self, root: str) -> str:
        """The whole grammar: the root, the rules of this grammar, and those of JSON that they use."""
        rules = {"root": root, **self._rules}
        pending = list(rules.values())
        while pending:
            for name in re.findall(r"[a-z][\w-]*", _without_literals(pending.pop())):
                if name in _JSON and name not in rules:
                    rules[name] = _JSON[name]
                    pending.append(_JSON[name])
        return "".join(f"{name} ::= {rule}\n" for name, rule in rules.items())

    def add(self, name: str, rule: str) -> str:
        self._rules[name] = rule
        return name

    def rule_of(self, schema: Any, name: str, root: Mapping[str, Any], depth: int = 0) -> str:
        """Name of the rule for what a schema allows. What GBNF cannot say is allowed, not forbidden."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return "value"
        if isinstance(schema.get("$ref"), str):
            return self._rule_of_ref(schema["$ref"], name, root, depth)
        if "const" in schema:
            return self.add(name, _literal(json.dumps(schema["const"], ensure_ascii=False)))
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self.add(name, " | ".join(_literal(json.dumps(one, ensure_ascii=False)) for one in schema["enum"]))
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                parts = [self.rule_of(one, f"{name}-{n}", root, depth + 1) for n, one in enumerate(schema[word])]
                return self.add(name, " | ".join(dict.fromkeys(parts)))
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self.rule_of(schema["allOf"][0], name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            parts = [
                self.rule_of({**schema, "type": one}, f"{name}-{n}", root, depth + 1) for n, one in enumerate(kind)
            ]
            return self.add(name, " | ".join(dict.fromkeys(parts)))
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, name, root, depth)
        if kind == "array":
            return self._array(schema, name, root, depth)
        return kind if kind in ("string", "integer", "number", "boolean", "null") else "value"

    def _rule_of_ref(self, ref: str, name: str, root: Mapping[str, Any], depth: int) -> str:
        if ref in self._by_ref:
            return self._by_ref[ref]
        target: Any = root
        for step in ref.removeprefix("#").strip("/").split("/") if ref != "#" else ():
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if not ref.startswith("#") or not isinstance(target, Mapping):
            return "value"
        own = f"ref{len(self._by_ref)}"
        self._by_ref[ref] = own  # before it is written, for a schema that holds itself
        inner = self.rule_of(target, f"{own}-is", root, depth + 1)
        return self.add(own, inner)

    def _object(self, schema: Mapping[str, Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties") or {}
        if not properties:
            extra = schema.get("additionalProperties", True)
            if extra is False:
                return self.add(name, '"{" ws "}"')
            if not isinstance(extra, Mapping):
                return "object"
            value = self.rule_of(extra, f"{name}-any", root, depth + 1)
            pair = f'string ws ":" ws {value}'
            return self.add(name, f'"{{" ws ( {pair} ( ws "," ws {pair} )* )? ws "}}"')
        required = set(schema.get("required") or ())
        pairs = []
        for number, (key, value) in enumerate(properties.items()):
            rule = self.rule_of(value, f"{name}-{number}", root, depth + 1)
            literal = _literal(json.dumps(key, ensure_ascii=False))
            pairs.append((self.add(f"{name}-{number}-pair", f'{literal} ws ":" ws {rule}'), key in required))
        return self.add(name, f'"{{" ws {_in_order(pairs)} ws "}}"')

    def _array(self, schema: Mapping[str, Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        item = self.rule_of(schema.get("items", True), f"{name}-item", root, depth + 1)
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most == 0:
            return self.add(name, '"[" ws "]"')
        bounds = f"{{{max(0, least - 1)},{'' if most is None else most - 1}}}"
        items = f'{item} ( ws "," ws {item} ){bounds}'
        return self.add(name, f'"[" ws {items if least else f"( {items} )?"} ws "]"')


def _in_order(pairs: Sequence[tuple[str, bool]]) -> str:
    """The pairs of an object in the schema's order: required ones always, the others may be left out.

    Commas stand between those that are there: before each pair but the first that is.
    """
    required = [position for position, (_, needed) in enumerate(pairs) if needed]
    if required:
        first = required[0]
        before = " ".join(f'( {name} ws "," ws )?' for name, _ in pairs[:first])
        after = " ".join(
            f'ws "," ws {name}' if needed else f'( ws "," ws {name} )?' for name, needed in pairs[first + 1 :]
        )
        return " ".join(part for part in (before, pairs[first][0], after) if part)
    ways = []
    for position, (name, _) in enumerate(pairs):
        rest = " ".join(f'( ws "," ws {other} )?' for other, _ in pairs[position + 1 :])
        ways.append(f"{name} {rest}".strip())
    return f"( {' | '.join(ways)} )?"


def _anything_but(word: str) -> list[str]:
    """Alternatives whose repetition is any text in which `word` does not begin (but behind its own first letters)."""
    return [f"[^{word[0]}]"] + [f"{_literal(word[:length])} [^{word[length]}]" for length in range(1, len(word))]


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _without_literals(rule: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]', " ", rule)
