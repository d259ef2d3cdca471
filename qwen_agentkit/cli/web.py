"""`qwen-agentkit web`: a web page over files."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from qwen_agentkit.cli.common_options import Quiet
from qwen_agentkit.cli.documents import open_assistant
from qwen_agentkit.cli.model_options import ApiKey, Model, ModelServer, is_extractive, model_config, model_name
from qwen_agentkit.cli.status import OK, WrongUse, finish
from qwen_agentkit.cli.terminal import say

_EXAMPLE = "qwen-agentkit web docs/"


def web(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILES", help="Files, folders and addresses.", show_default=False)
    ] = None,
    model: Model = None,
    model_server: ModelServer = None,
    api_key: ApiKey = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; others than this one need it.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int | None,
        typer.Option(
            "--port", help="Port; by default the first free one from 7860 on.", min=0, max=65535, show_default=False
        ),
    ] = None,
    login: Annotated[
        str | None,
        typer.Option(
            "--login",
            envvar="QWEN_AGENTKIT_WEB_LOGIN",
            metavar="NAME:PASSWORD",
            help="Who may come in. Better given in the environment.",
            show_default=False,
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    quiet: Quiet = False,
) -> None:
    """Opens a web page that answers questions from files and shows where in them the answer stands.

    Without a model the answer is made of sentences quoted from the files, and nothing leaves this machine.
    The page is for this machine alone unless --host says otherwise; Ctrl-C ends it.

    \b
    Examples:
      qwen-agentkit web docs/
      qwen-agentkit web handbook.pdf prices.xlsx --port 8080 --open
      qwen-agentkit web docs/ --model qwen-max
      QWEN_AGENTKIT_WEB_LOGIN=ada:secret qwen-agentkit web docs/ --host 0.0.0.0

    \b
    Exit status: 0 ended by Ctrl-C, 2 wrong use, no readable file, or Gradio is
    not installed.
    """
    finish("web", lambda: _web(list(files or []), model, model_server, api_key, host, port, login, open_browser))


def _web(
    files: list[str],
    model: str | None,
    model_server: str | None,
    api_key: str | None,
    host: str,
    port: int | None,
    login: str | None,
    open_browser: bool,
) -> int:
    from qwen_agentkit.gui import WebUI
    from qwen_agentkit.gui.gradio_dep import load_gradio

    config = model_config(model, model_server, api_key)
    if not files and is_extractive(config):
        raise WrongUse(f"name files to ask about, or a model with --model. Example: {_EXAMPLE}")
    # What is wrong is said before the files are read, which may take minutes.
    auth = _login(login)
    load_gradio()
    opened = open_assistant(files, config)
    opened.agent.name = _title(files, model_name(config))
    page = WebUI(opened.agent, {"auth": auth})
    served = page.start(server_name=host, server_port=port)
    say(f"The page is at {served.url} - {len(opened.sources.files)} files, {model_name(config)}. Ctrl-C ends it.")
    if open_browser:
        typer.launch(served.url)
    served.wait()
    return OK


def _title(files: list[str], model: str) -> str:
    """What the page is called: the one thing that it is about, else the model."""
    return os.path.basename(os.path.normpath(files[0])) if len(files) == 1 else model


def _login(given: str | None) -> tuple[str, str] | None:
    if given is None:
        return None
    name, colon, password = given.partition(":")
    if not (name and colon and password):
        raise WrongUse("--login wants NAME:PASSWORD")
    return name, password
