"""The command line, `qwen-agentkit`: it adapts an agent to a shell and holds no logic of its own.

With `--json`, standard output carries JSON and nothing else; progress, problems and errors always go to
standard error. Exit status: 0 answered or declined (and for other commands: done), 1 the model or the run failed (or
a check found an error), 2 wrong use or no readable file, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. A class of its own: after a plain KeyboardInterrupt Python may end itself by the signal, whatever status
    the program chose, when it met code that is made from text (as dataclasses are while a module is imported)."""


def main() -> None:
    """Runs the command that `sys.argv` names and exits with its status."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        try:
            from qwen_agentkit.cli.app import app

            app(prog_name="qwen-agentkit")
        finally:
            # The status is decided. Python's own end must neither show a traceback nor change it.
            signal.signal(signal.SIGINT, _end_at_once)
    except KeyboardInterrupt:
        # Pressed outside of a command: while it was loading, or as it was leaving.
        sys.exit(_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)
