"""`MODULE:NAME` on the command line: an agent of the user's own program."""

from __future__ import annotations

import importlib
import os
import sys

from qwen_agentkit.agent import Agent
from qwen_agentkit.cli.status import WrongUse


def load_agent(target: str) -> Agent:
    """The agent that a program has under a name.

    Args:
        target: `package.module:name`, found from the current folder as `python -m` finds it. The name is an agent, or
            a function without arguments that makes one.

    Raises:
        WrongUse: There is none; one line says which part is wrong.
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise WrongUse(f"an agent is named as module:agent, such as my_bots:support; not {target!r}")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise WrongUse(f"{target}: {error}") from error
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise WrongUse(f"{target}: {module_name} has no {name}")
        found = getattr(found, part)
    made = found if isinstance(found, Agent) or not callable(found) else found()
    if not isinstance(made, Agent):
        raise WrongUse(f"{target} is no agent, but {type(made).__name__}")
    return made
