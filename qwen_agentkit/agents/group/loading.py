"""Loading an agent or team that a program defines, by a text such as `team.py:team`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from qwen_agentkit.agent import Agent


def load_agent(place: str) -> Agent:
    """The agent at a place.

    The file is run, as `python FILE` would, with its folder on the path; its `if __name__ == "__main__"` part is not.

    Args:
        place: `path/to/file.py:name` or `package.module:name`. The name may be a function without arguments that
            makes the agent; without a name it is `team` or `agent`, whichever there is.

    Raises:
        ValueError: There is no such file, module or name, or what stands there is no agent.
    """
    where, _, name = place.rpartition(":") if ":" in place else (place, "", "")
    module = _file(Path(where)) if where.endswith(".py") else _module(where)
    names = [name] if name else ["team", "agent"]
    found = next((held for held in (_named(module, one) for one in names) if held is not None), None)
    if found is None:
        raise ValueError(f"{where} has no {' or '.join(names)}; say which agent with {where}:NAME")
    if not isinstance(found, Agent) and callable(found):
        found = _made(found, place)
    if not isinstance(found, Agent):
        raise ValueError(f"{place} is no agent but {type(found).__name__} {found!r}"[:300])
    return found


def _named(module: ModuleType, name: str) -> Any:
    """What a module has under a name, which may have dots; None where there is nothing."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _made(make: Any, place: str) -> Any:
    try:
        return make()
    except TypeError as error:
        raise ValueError(f"{place} cannot be called without arguments to make an agent: {error}") from error


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"There is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    # Pickle and dataclasses look the module up by its name; a module of that name that is there already stays.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(f"{name} cannot be imported: {error}") from error
