"""`qwen-agentkit check`: looks a team over before any model is called."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.loading import load_agent
from qwen_agentkit.cli.status import FAILED, OK, finish
from qwen_agentkit.cli.terminal import remark, write, write_json


def check(
    place: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:TEAM", help="A team or agent of your own program, or its name in the configuration file."
        ),
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Says what is wrong with a team: members nobody reaches, handoffs to nobody, talks that cannot end.

    The program is run as an import would; no model is called.

    \b
    Examples:
      qwen-agentkit check team.py:team
      qwen-agentkit check my_package.desk:make_team --json

    \b
    Exit status: 0 nothing is wrong (there may be warnings), 1 something cannot work,
    2 there is no such team, 130 Ctrl-C.
    """
    finish("check", lambda: _check(place, as_json))


def _check(place: str, as_json: bool) -> int:
    from qwen_agentkit.agents.group.linter import ERROR, check_team

    findings = check_team(load_agent(place))
    if as_json:
        shown = [{"level": one.level, "team": one.team, "text": one.text} for one in findings]
        write_json({"place": place, "findings": shown})
    else:
        for one in findings:
            write(f"{one}\n", "red" if one.level == ERROR else "yellow")
        if not findings:
            remark(f"{place}: nothing is wrong.")
    return FAILED if any(one.level == ERROR for one in findings) else OK
