"""JSON Schema for the parameters of tools: reading both forms, checking them, checking values against them.

A tool's parameters are written as a JSON Schema of an object, or in Qwen-Agent's short form, a list of
``{"name": "city", "type": "string", "description": "...", "required": True}``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.log import logger

# Names that people write for JSON's types.
_TYPE_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "json": "object",
}
_MENDING_ROUNDS = 4
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def parameters_schema(parameters: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a tool's parameters, whichever of the two forms they are written in.

    Args:
        parameters: A JSON Schema of an object, or the list form; one that `parameters_problem` finds nothing
            wrong with (it is called before every request, so it is not checked again).

    Returns:
        A new dict that always has `type`, `properties` and `required`; everything else of the schema is kept.
    """
    if isinstance(parameters, Mapping):
        schema = copy.deepcopy(dict(parameters))
        schema.setdefault("type", "object")
        schema.setdefault("properties", {})
        schema.setdefault("required", [])
        return schema
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in parameters:
        held = {key: copy.deepcopy(value) for key, value in parameter.items() if key not in ("name", "required")}
        kind = held.get("type")
        if isinstance(kind, str):
            kind = _TYPE_ALIASES.get(kind.lower(), kind.lower())
            if kind in _TYPES:
                held["type"] = kind
            else:
                del held["type"]
        properties[parameter["name"]] = held
        if parameter.get("required") is True:
            required.append(parameter["name"])
    return {"type": "object", "properties": properties, "required": required}


def parameters_problem(parameters: Any) -> str | None:
    """What is wrong with a tool's parameters, in one line; None when they can be used."""
    if isinstance(parameters, Mapping):
        return _schema_problem(parameters)
    if isinstance(parameters, Sequence) and not isinstance(parameters, (str, bytes)):
        names: set[str] = set()
        for position, parameter in enumerate(parameters):
            name = parameter.get("name") if isinstance(parameter, Mapping) else None
            if not isinstance(name, str) or not name:
                return f"parameters[{position}] is a dict with 'name', 'type' and 'description', not {parameter!r}"
            if name in names:
                return f"parameters[{position}]: the name {name!r} is there twice"
            names.add(name)
        return None
    return f"parameters are a JSON Schema (dict) or a list of dicts, not {type(parameters).__name__}"


def _schema_problem(schema: Mapping[str, Any]) -> str | None:
    if schema.get("type", "object") != "object":
        return f"the schema of parameters has type 'object', not {schema['type']!r}"
    import jsonschema

    try:
        _validator_class(schema).check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"the schema of parameters is not valid at {_place(error.absolute_path)}: {_short(error.message)}"
    return None


def check(schema: Mapping[str, Any], value: Any) -> tuple[Any, list[str]]:
    """Checks a value against a schema, after mending what models commonly get wrong.

    A number, truth value, list or object given as text is read (``"3"`` for an integer), a single value is put
    into a list where a list is wanted, and text is made of a bare number where text is wanted.

    Args:
        schema: Any JSON Schema.
        value: What the model gave; it is not changed.

    Returns:
        The value (mended where it could be) and the problems that remain, one line each; none when it fits.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry: a "$ref" to an address (a tool of an MCP server may hold one) is never fetched.
    validator = _validator_class(schema)(schema, registry=Registry())
    try:
        return _checked(validator, value)
    except Unresolvable as error:
        logger.warning("Arguments were not checked, the schema refers to what it does not hold: %s", error)
        return value, []


def _checked(validator: Any, value: Any) -> tuple[Any, list[str]]:
    errors = list(validator.iter_errors(value))
    # What was mended may hold more to mend: text that is read as a list of numbers given as text.
    for _ in range(_MENDING_ROUNDS):
        mended = copy.deepcopy(value)
        if not any([_mend(mended, one) for error in errors for one in _type_errors(error)]):
            break
        left = list(validator.iter_errors(mended))
        if _weight(left) >= _weight(errors):
            break
        value, errors = mended, left
    return value, [_problem(error) for error in errors]


def _weight(errors: list[Any]) -> tuple[int, int]:
    """How wrong a value is: how many errors, and how near to the top they are (deeper is nearer to right)."""
    return len(errors), -sum(len(error.absolute_path) for error in errors)


def _validator_class(schema: Mapping[str, Any]) -> Any:
    import jsonschema

    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)


def _type_errors(error: Any) -> list[Any]:
    """The type errors in an error, those inside `anyOf` and `oneOf` too (an Optional[int] given as "3")."""
    if error.validator == "type":
        return [error]
    if error.validator in ("anyOf", "oneOf"):
        return [inner for inner in error.context if inner.validator == "type"]
    return []


def _mend(root: Any, error: Any) -> bool:
    """Converts the value at an error's place to a type that is wanted there. True when it could."""
    path = list(error.absolute_path)
    if not path:
        return False
    holder = root
    for step in path[:-1]:
        holder = holder[step]
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    for kind in wanted:
        converted = _converted(holder[path[-1]], kind)
        if converted is not None:
            holder[path[-1]] = converted[0]
            return True
    return False


def _converted(value: Any, kind: str) -> tuple[Any] | None:
    """The value as JSON type `kind`, in a one-tuple (None is a value too); None when it cannot be."""
    if kind == "array" and not isinstance(value, (list, str)):
        return ([value],) if value is not None else None
    if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return (json.dumps(value),)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return (int(value),)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if kind == "boolean":
        return (text.lower() == "true",) if text.lower() in ("true", "false") else None
    if kind == "null":
        return (None,) if text.lower() in ("null", "none") else None
    try:
        read = json.loads(text)
    except ValueError:
        return ([value],) if kind == "array" else None
    if kind == "integer" and isinstance(read, float) and read.is_integer():
        read = int(read)
    fits = {
        "integer": isinstance(read, int) and not isinstance(read, bool),
        "number": isinstance(read, (int, float)) and not isinstance(read, bool),
        "array": isinstance(read, list),
        "object": isinstance(read, dict),
    }
    if fits.get(kind, False):
        return (read,)
    return ([value],) if kind == "array" else None


def _problem(error: Any) -> str:
    """One line for a model: where, what was wrong, what is wanted."""
    place = _place(error.absolute_path)
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        inside = f" in {place}" if error.absolute_path else ""
        return f"{', '.join(repr(name) for name in missing)} is required{inside} and missing"
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = ", ".join(error.schema.get("properties", {})) or "none"
        return f"{_short(error.message)}; known are: {known}"
    if error.validator in ("anyOf", "oneOf"):
        kinds = [inner.validator_value for inner in error.context if inner.validator in ("type", "enum", "const")]
        if kinds:
            return f"{place} is {_shown(error.instance)}; wanted is one of {json.dumps(kinds, ensure_ascii=False)}"
    if error.validator == "type":
        return f"{place} is {_shown(error.instance)}; wanted is {json.dumps(error.validator_value)}"
    if error.validator == "enum":
        wanted = json.dumps(error.validator_value, ensure_ascii=False)
        return f"{place} is {_shown(error.instance)}; wanted is one of {wanted}"
    return f"{place}: {_short(error.message)}"


def _place(path: Any) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return repr(text) if text else "the value"


def _shown(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit] + "…"
