"""The options that every command has."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli.terminal import be_quiet

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Say nothing but the result and what went wrong.", callback=be_quiet, expose_value=False
    ),
]
