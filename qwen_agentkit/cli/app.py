"""The Typer application: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli.ask import ask
from qwen_agentkit.cli.chat import chat
from qwen_agentkit.cli.mcp import mcp
from qwen_agentkit.cli.serve import serve
from qwen_agentkit.cli.web import web
from qwen_agentkit.version import __version__

app = typer.Typer(
    name="qwen-agentkit",
    help="Questions to local files and conversations with agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help and one-line errors, the same on a terminal and in a pipe.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask")(ask)
app.command("chat")(chat)
app.command("web")(web)
app.command("serve")(serve)
app.command("mcp")(mcp)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qwen-agentkit {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Questions to local files and conversations with agents."""
