"""`qwen-agentkit serve`: agents over HTTP."""

from __future__ import annotations

import os
import re
from typing import Annotated

import typer

from qwen_agentkit.agent import Agent
from qwen_agentkit.cli.common_options import Quiet
from qwen_agentkit.cli.loading import load_agent
from qwen_agentkit.cli.status import OK, WrongUse, finish
from qwen_agentkit.cli.stored_sessions import OnBusy
from qwen_agentkit.cli.terminal import is_quiet, say
from qwen_agentkit.log import setup_logger
from qwen_agentkit.server.entry import DEFAULT_PORT
from qwen_agentkit.server.entry import serve as serve_agents
from qwen_agentkit.server.options import UNNAMED, ServerOptions
from qwen_agentkit.session.session import LOCAL_USER

TOKENS_VARIABLE = "QWEN_AGENTKIT_SERVER_TOKENS"

_ORIGIN = re.compile(r"https?://[^/\s]+\Z")
# Tokens as RFC 6750 has them hold no colon.
_TOKEN = re.compile(r"(?:(?P<user>[^:\s]{1,255}):)?(?P<token>[A-Za-z0-9\-._~+/]+=*)\Z")


def serve(
    agents: Annotated[
        list[str],
        typer.Argument(
            metavar="MODULE:AGENT...",
            help="Agents of your own program (a module or a file.py), or their names in the configuration file.",
            show_default=False,
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = DEFAULT_PORT,
    token: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[USER:]TOKEN",
            help=f"A bearer token and whose it is; may be given several times. Tokens in {TOKENS_VARIABLE}, with "
            "commas between, are not seen by other users of the machine.",
            show_default=False,
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve everyone who reaches the address, without tokens.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where sessions are kept, such as postgresql+psycopg://...")
    ] = None,
    on_busy: OnBusy = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="A web page that may call; may be given several times.")
    ] = None,
    max_running: Annotated[int, typer.Option(help="Runs at once.", min=1)] = ServerOptions.max_running,
    max_waiting: Annotated[int, typer.Option(help="Runs that may wait.", min=0)] = ServerOptions.max_waiting,
    quiet: Quiet = False,
) -> None:
    """Serves agents: OpenAI's chat completions, runs as events, chat, sessions and uploads.

    The API is described at /docs. Ctrl-C lets running answers end.

    \b
    Examples:
      qwen-agentkit serve my_bots:support
      qwen-agentkit serve my_bots:support my_bots:team --port 9000
      QWEN_AGENTKIT_SERVER_TOKENS=ada:s3cret qwen-agentkit serve my_bots:support --host 0.0.0.0

    \b
    Exit status: 0 stopped by Ctrl-C, 1 it failed, 2 wrong use or an extra is not installed.
    """

    def work() -> int:
        if not all(_ORIGIN.match(origin) for origin in cors_origin or ()):
            raise WrongUse("--cors-origin is scheme://host[:port], such as https://chat.example")
        in_environment = filter(None, map(str.strip, os.environ.get(TOKENS_VARIABLE, "").split(",")))
        tokens = tokens_of([*(token or []), *in_environment])
        if tokens and no_token:
            raise WrongUse("either tokens or --no-token")
        options = ServerOptions(
            tokens=tokens,
            without_token=no_token,
            store=store,
            on_busy=on_busy.value if on_busy else None,
            cors_origins=tuple(cors_origin or ()),
            max_running=max_running,
            max_waiting=max_waiting,
        )
        _serve([load_agent(name) for name in agents], host, port, options)
        return OK

    finish("serve", work)


def _serve(agents: list[Agent], host: str, port: int, options: ServerOptions) -> None:
    setup_logger("WARNING" if is_quiet() else None)
    names = ", ".join(agent.name or UNNAMED for agent in agents)
    try:
        serve_agents(agents, host, port, options, started=lambda address: say(f"Serving {names} at {address}"))
    except ValueError as error:
        raise WrongUse(str(error)) from None
    except KeyboardInterrupt:
        # The usual way to stop; running answers have ended by now.
        say("Stopped.")


def tokens_of(given: list[str]) -> dict[str, str]:
    """Token -> user of texts `[USER:]TOKEN`; a token without a user is that of `local`.

    Raises:
        WrongUse: A text is none, or a token has two users.
    """
    tokens: dict[str, str] = {}
    for text in given:
        match = _TOKEN.match(text.strip())
        if match is None:
            raise WrongUse("a token is USER:TOKEN or TOKEN, of letters, digits and -._~+/")
        user = match["user"] or LOCAL_USER
        if tokens.setdefault(match["token"], user) != user:
            raise WrongUse(f"one token is given to two users, {tokens[match['token']]} and {user}")
    return tokens
