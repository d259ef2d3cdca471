"""`MODULE:NAME` or `FILE.py:NAME` on the command line: an agent of the user's own program."""

from __future__ import annotations

import contextlib
import os
import sys

from qwen_agentkit.agent import Agent
from qwen_agentkit.cli import configuration
from qwen_agentkit.cli.status import WrongUse


def load_agent(target: str) -> Agent:
    """The agent that a program has under a name; what the program prints meanwhile goes to standard error.

    Args:
        target: As `agents.group.loading.load_agent` takes it, modules found from the current folder as `python -m`
            finds them; or a name that the configuration file gives to such a place.

    Raises:
        WrongUse: There is none; one line says which part is wrong.
    """
    from qwen_agentkit.agents.group.loading import load_agent as load

    place = configuration.current().place_of(target)
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        # Standard output may be JSON alone, or a protocol.
        with contextlib.redirect_stdout(sys.stderr):
            return load(place)
    except ValueError as error:
        hint = "" if ":" in place else "; an agent is named as module:agent or file.py:agent"
        named = "" if place == target else f"{target}: "
        raise WrongUse(f"{named}{error}{hint}") from error
