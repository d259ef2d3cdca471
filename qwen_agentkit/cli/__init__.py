"""The command line, `qwen-agentkit`: it adapts an agent to a shell and holds no logic of its own.

With `--json`, standard output carries JSON and nothing else; progress, problems and errors always go to
standard error. Exit status: 0 answered or declined, 1 the model or the run failed, 2 wrong use or no readable
file, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command that `sys.argv` names and exits with its status."""
    try:
        from qwen_agentkit.cli.app import app

        app(prog_name="qwen-agentkit")
    except KeyboardInterrupt:
        # Pressed outside of a command, while it was loading.
        sys.exit(130)
