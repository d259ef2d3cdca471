"""The model that an example talks to: a scripted one, or a real one that the command line names."""

from __future__ import annotations

import argparse
from typing import Any


def model_from_flags(description: str) -> dict[str, Any] | None:
    """Reads `--model`, `--model-server` and `--api-key`.

    Args:
        description: First line of the example's help.

    Returns:
        A configuration for `llm=`, or None when no model is named.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", help="a real model, such as qwen-max; without it the replies are scripted")
    parser.add_argument("--model-server", help="an OpenAI-compatible server, such as http://localhost:11434/v1")
    parser.add_argument("--api-key", help="its key; better given in the environment")
    flags = vars(parser.parse_args())
    if flags["model"] is None:
        return None
    return {name: value for name, value in flags.items() if value is not None}
