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
    if isinstance(params, Mapping):
        return dict(params)
    if params is not None and not isinstance(params, str):
        raise ToolArgumentsError(f"The arguments are a {type(params).__name__}; a JSON object is wanted.")
    if strict_json:
        return _strict(params or "{}")
    from qwen_agentkit.llm.arguments import repair_arguments

    read = repair_arguments(params)
    if read.error:
        raise ToolArgumentsError(read.error)
    if read.cut and not allow_cut_off:
        raise ToolArgumentsError("The arguments end in the middle. Nothing was done; write them again, whole.")
    return json.loads(read.arguments_json)


def _strict(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ToolArgumentsError(f"The arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ToolArgumentsError(f"The arguments are a {type(value).__name__}; a JSON object is wanted.")
    return value
