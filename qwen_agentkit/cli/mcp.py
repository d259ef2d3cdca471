"""`qwen-agentkit mcp`: documents or an agent for an MCP client that starts this command."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated, Any

import typer

from qwen_agentkit.agents import Assistant
from qwen_agentkit.cli.common_options import Quiet
from qwen_agentkit.cli.loading import load_agent
from qwen_agentkit.cli.model_options import ApiKey, Model, ModelServer, model_config, model_name
from qwen_agentkit.cli.sources import find_sources
from qwen_agentkit.cli.status import OK, WrongUse, finish
from qwen_agentkit.cli.terminal import say
from qwen_agentkit.mcp_server import agent_server, documents_server
from qwen_agentkit.rag.sources import is_url


def mcp(
    files: Annotated[
        list[str] | None,
        typer.Option("--files", metavar="PATH", help="File, folder or address; may be given several times."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="MODULE:AGENT", help="An agent of your own program.")
    ] = None,
    model: Model = None,
    model_server: ModelServer = None,
    api_key: ApiKey = None,
    quiet: Quiet = False,
) -> None:
    """Serves documents, or an agent, to an MCP client over standard input and output.

    With --files the client gets the tools search_documents, read_document and ask_documents; answers carry
    citations. With --agent it gets the tool ask. What is kept of the documents goes into the folder "workspace" below
    the folder that the client starts this in, or into that of QWEN_AGENTKIT_DEFAULT_WORKSPACE.

    \b
    Examples (the command that a client is configured with):
      qwen-agentkit mcp --files docs/
      qwen-agentkit mcp --files docs/ --model qwen3:8b --model-server http://localhost:11434/v1
      qwen-agentkit mcp --agent my_bots:support

    \b
    Exit status: 0 the client left, 1 it failed, 2 wrong use or no readable file, 130 Ctrl-C.
    """
    finish("mcp", lambda: _mcp(list(files or []), agent, model, model_server, api_key))


def _mcp(files: list[str], agent: str | None, model: str | None, model_server: str | None, api_key: str | None) -> int:
    if bool(files) == bool(agent):
        raise WrongUse("either --files or --agent is wanted. Example: qwen-agentkit mcp --files docs/")
    server: Any
    if agent:
        if model or model_server:
            raise WrongUse("--agent brings its own model; --model and --model-server go with --files")
        # Standard output carries the protocol alone, whatever the program prints.
        with contextlib.redirect_stdout(sys.stderr):
            server = agent_server(load_agent(agent))
    else:
        config = model_config(model, model_server, api_key)
        sources = find_sources(files)
        for problem in sources.problems:
            say(f"{problem['file']}: {problem['reason']}")
        if not sources.files:
            raise WrongUse("there is no file to read")
        # The folders, not the files found now, are what is served: a file that is added later is found.
        places = [name if is_url(name) else os.path.abspath(os.path.expanduser(name)) for name in files]
        server = documents_server(places, Assistant(llm=config, files=places), model_name(config))
    server.run("stdio")
    if sys.stdout.closed:
        # mcp 1.x closes it when the client leaves.
        sys.stdout = sys.stderr
    return OK
