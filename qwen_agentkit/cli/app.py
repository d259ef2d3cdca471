"""The Typer application: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli import configuration
from qwen_agentkit.cli.ask import ask
from qwen_agentkit.cli.chat import chat
from qwen_agentkit.cli.check import check
from qwen_agentkit.cli.clean import clean
from qwen_agentkit.cli.doctor import doctor
from qwen_agentkit.cli.index import index
from qwen_agentkit.cli.mcp import mcp
from qwen_agentkit.cli.memory import memory
from qwen_agentkit.cli.serve import serve
from qwen_agentkit.cli.sessions import sessions
from qwen_agentkit.cli.status import WRONG_USE
from qwen_agentkit.cli.terminal import say
from qwen_agentkit.cli.transcript import transcript
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
app.add_typer(index, name="index")
app.add_typer(sessions, name="sessions")
app.add_typer(memory, name="memory")
app.command("check")(check)
app.command("transcript")(transcript)
app.command("clean")(clean)
app.command("doctor")(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qwen-agentkit {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE",
            envvar="QWEN_AGENTKIT_CONFIG",
            help="Configuration file; without it qwen-agentkit.toml in this folder, else the one in "
            "~/.config/qwen-agentkit/.",
        ),
    ] = None,
) -> None:
    """Questions to local files and conversations with agents.

    \b
    Examples:
      qwen-agentkit ask handbook.pdf "How long is the motor guaranteed?"
      qwen-agentkit chat docs/
      qwen-agentkit doctor

    Each command's --help has examples. A flag wins over the environment, and that over the configuration file.

    \b
    Exit status: 0 answered, declined or done; 1 a model, a run or a check failed; 2 wrong
    use or no readable file; 130 stopped by Ctrl-C.
    """
    if context.invoked_subcommand == "doctor":
        # It says itself what is wrong with the file.
        configuration.remember(config)
        return
    try:
        configuration.begin(config)
    except ValueError as error:
        say(f"qwen-agentkit: {error}", "red")
        raise typer.Exit(WRONG_USE) from None
