"""Settings of tools that are read from the environment when they are used."""

from __future__ import annotations

import os

from qwen_agentkit.settings import PREFIXES


def environment(name: str, *, plain: bool = False) -> str | None:
    """The value of an environment variable; None when it is absent or empty.

    Args:
        name: Without prefix: `QWEN_AGENTKIT_<name>` is looked up, then `QWEN_AGENT_<name>`.
        plain: Looks up `name` itself after those two: keys of services have names of their own.
    """
    for prefix in (*PREFIXES, *(("",) if plain else ())):
        value = os.environ.get(prefix + name)
        if value:
            return value
    return None
