"""`qwen-agentkit doctor`: what is installed, which keys and servers answer, and what to do."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.status import FAILED, OK, finish
from qwen_agentkit.cli.terminal import is_quiet, write, write_json

_MARKS = {"fine": ("ok     ", "green"), "absent": ("-      ", "dim"), "wrong": ("WRONG  ", "red")}


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server whether it answers.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Says what is installed, which keys are set, which servers answer, and what to do where something is amiss.

    Servers are asked for their list of models: the ones that are configured, and those whose key is in the
    environment. Keys are never shown. With --quiet only what is wrong is said.

    \b
    Examples:
      qwen-agentkit doctor
      qwen-agentkit doctor --offline --json

    \b
    Exit status: 0 nothing is wrong (what is absent is only named), 1 something is wrong,
    130 Ctrl-C.
    """
    finish("doctor", lambda: _doctor(offline, as_json))


def _doctor(offline: bool, as_json: bool) -> int:
    from dataclasses import asdict

    from qwen_agentkit.cli.health import WRONG, look

    checks = []
    for check in look(not offline):
        checks.append(check)
        if as_json or (is_quiet() and check.state != WRONG):
            continue
        mark, style = _MARKS[check.state]
        write(mark, style)
        write(f"{check.group} {check.name}: {check.text}\n")
        if check.todo and check.state == WRONG:
            write(f"       do: {check.todo}\n", "bold")
        elif check.todo:
            write(f"       if wanted: {check.todo}\n", "dim")
    if as_json:
        write_json([asdict(check) for check in checks])
    return FAILED if any(check.state == WRONG for check in checks) else OK
