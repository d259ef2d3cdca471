"""The command line, `qwen-agentkit`: it adapts an agent to a shell and holds no logic of its own.

With `--json`, standard output carries JSON and nothing else; progress, problems and errors always go to
standard error. Exit status: 0 answered or declined (and for other commands: done), 1 the model or the run failed (or
a check found an error), 2 wrong use or no readable file, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Runs the command that `sys.argv` names and exits with its status; Ctrl-C at any moment gives 130."""
    # What is registered first runs last. Python then gives the signal its default action back, which would end the
    # process by the signal in place of the status.
    atexit.register(_ignore_interrupts)
    try:
        try:
            from qwen_agentkit.cli.app import app

            app(prog_name="qwen-agentkit")
        finally:
            _end_at_once_when_interrupted()
    except KeyboardInterrupt:
        # Pressed outside of a command: while it was loading, or as it was leaving.
        sys.exit(_INTERRUPTED)


def _end_at_once_when_interrupted() -> None:
    """From here on the process only leaves: Ctrl-C neither waits for its threads nor shows a traceback."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end_at_once)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
