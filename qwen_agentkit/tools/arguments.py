"""Reads the arguments of a tool call: a dict from a program, or what a model wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError


def read_arguments(
    params: str | Mapping[str, Any] | None, *, strict_json: bool = False, allow_cut_off: bool = True
) -> dict[str, Any]:
    """The arguments as a new dict.

    Args:
        params: A dict, or text. None, nothing and `null` are no arguments.
        strict_json: Text must be JSON as it stands.
        allow_cut_off: Text that ends in the middle (the model's limit was reached) is completed by closing what
            is open. For a tool with side effects it had better not be.

    Raises:
        ToolArgumentsError: A ValueError; its text is one line for the model.
    """
    if params is None:
        return {}
    if isinstance(params, Mapping):
        return dict(params)
    if not isinstance(params, str):
        raise ToolArgumentsError(f"Arguments are a JSON object, not {type(params).__name__}")
    if not params.strip():
        return {}
    try:
        value = json.loads(params)
    except ValueError as error:
        if strict_json:
            raise ToolArgumentsError(f"Arguments are not valid JSON ({error}): {_shown(params)}") from None
        value = _repaired(params, allow_cut_off)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolArgumentsError(f"Arguments are a JSON object, not {_shown(json.dumps(value, ensure_ascii=False))}")
    return value


def _repaired(text: str, allow_cut_off: bool) -> Any:
    import json5

    body = text.strip()
    if body.startswith("```") and body.endswith("```"):
        body = body[3:-3].partition("\n")[2].strip()
    try:
        return json5.loads(body)
    except ValueError as error:
        raise ToolArgumentsError(f"Arguments are not valid JSON ({error}): {_shown(text)}") from None


def _shown(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit] + "…"
