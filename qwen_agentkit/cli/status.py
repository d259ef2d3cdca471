"""Exit statuses, and how a command ends with one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import typer

from qwen_agentkit.cli.terminal import say
from qwen_agentkit.errors import MissingDependencyError, ModelServiceError, QwenAgentKitError

OK = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130


class WrongUse(Exception):
    """The command was given something it cannot work with; the text is the one line that the user sees."""


def finish(command: str, work: Callable[[], int]) -> None:
    """Runs a command's work and exits with its status; an error becomes one line on standard error.

    Args:
        command: Name of the command, put before the line.
        work: Does the work and returns the exit status.
    """
    try:
        status = work()
        sys.stdout.flush()
    except WrongUse as error:
        say(f"qwen-agentkit {command}: {error}")
        status = WRONG_USE
    except (QwenAgentKitError, ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader has left (`| head`): nothing to say, and nothing may be flushed at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = OK
        else:
            say(f"qwen-agentkit {command}: {error}")
            status = WRONG_USE if _is_wrong_use(error) else FAILED
    except KeyboardInterrupt:
        say("Stopped.")
        status = INTERRUPTED
    raise typer.Exit(status)


def _is_wrong_use(error: Exception) -> bool:
    """Whether the user can mend the error by another command: an absent package, a model the server lacks."""
    return isinstance(error, MissingDependencyError) or (isinstance(error, ModelServiceError) and error.code == "404")
