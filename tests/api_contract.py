"""The public names, signatures and defaults that programs rely on, as data.

    python -m tests.api_contract        (writes tests/api_contract.json anew, after a change that is meant)

Annotations are left out: a program is not broken by them.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
from collections.abc import Collection, Iterator
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.test_dropin_imports import NAMES

FROZEN = Path(__file__).with_suffix(".json")
# Methods that subclasses write or call although their names begin with an underscore.
HOOKS = {
    "_run",
    "_call_llm",
    "_call_tool",
    "_detect_tool",
    "_init_tool",
    "_verify_json_format_args",
    "_chat_stream",
    "_chat_no_stream",
    "_chat_with_functions",
    "_continue_assistant_response",
    "_preprocess_messages",
    "_postprocess_messages",
    "_postprocess_messages_iterator",
}
# Wording that models read; it may get better.
WORDING = {"description"}


def contract() -> dict[str, str]:
    """`path.name` or `path.Class.method` -> its signature, or `= value` of a constant.

    A class is described under the first of its paths, and a method under the class that defines it.
    """
    found: dict[str, str] = {}
    # Settings are read from the environment.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QWEN_AGENT")}
    with patch.dict(os.environ, kept, clear=True):
        values = {place: value for place, value in public_values() if place != "qwen_agentkit.__version__"}
        classes: dict[type, str] = {}
        for place, value in values.items():
            if not inspect.isclass(value):
                found[place] = described(value)
            elif value in classes:
                found[place] = f"is {classes[value]}"
            else:
                classes[value] = place
        for value, place in classes.items():
            made_here = definer(value, "__init__").__module__.startswith("qwen_agentkit")
            found[place] = f"class{signature(value)}" if made_here else "class"
            found.update({f"{place}.{name}": text for name, text in members(value, classes)})
    return dict(sorted(found.items()))


def public_values() -> Iterator[tuple[str, Any]]:
    for path, names in NAMES.items():
        where = f"qwen_agentkit.{path}" if path else "qwen_agentkit"
        for name in names.split():
            yield f"{where}.{name}", getattr(importlib.import_module(where), name)


def described(value: Any) -> str:
    """What is promised of something that is no class."""
    if callable(value):
        return f"function{signature(value)}"
    if isinstance(value, (str, int, float, bool, list, tuple, type(None))):
        return f"= {value!r}"
    return f"a {type(value).__name__}"


def members(owner: type, classes: Collection[type]) -> Iterator[tuple[str, str]]:
    """The methods and values that a class has of itself, or from a base that is not described of itself."""
    for name, member in inspect.getmembers_static(owner):
        base = definer(owner, name)
        if base is not owner and (base in classes or not base.__module__.startswith("qwen_agentkit")):
            continue
        if name in WORDING or (name.startswith("_") and name not in HOOKS):
            continue
        if isinstance(member, property):
            yield name, "property"
        elif callable(member) or isinstance(member, (classmethod, staticmethod)):
            yield name, f"method{signature(member)}"
        elif isinstance(member, (str, int, float, bool, type(None))):
            yield name, f"= {member!r}"


def definer(owner: type, name: str) -> type:
    """The class whose own member this is."""
    return next((one for one in owner.__mro__ if name in vars(one)), owner)


def signature(value: Any) -> str:
    """Parameters with their defaults, `(self, messages, stream=True, **kwargs)`."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    parameters = inspect.signature(value).parameters.values()
    shown = [
        one.replace(
            annotation=inspect.Parameter.empty, default=one.default if literal(one.default) else Shown(one.default)
        )
        for one in parameters
    ]
    return str(inspect.Signature(shown))


def literal(value: Any) -> bool:
    return value is inspect.Parameter.empty or isinstance(value, (str, int, float, bool, type(None), list, dict))


class Shown:
    """A default that is no literal, shown by its name or its type, so that it is the same in each process."""

    def __init__(self, value: Any) -> None:
        self.text = value.name if isinstance(value, Enum) else getattr(value, "__qualname__", type(value).__qualname__)

    def __repr__(self) -> str:
        return f"<{self.text}>"


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(contract(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{FROZEN.name} holds {len(contract())} names.")
