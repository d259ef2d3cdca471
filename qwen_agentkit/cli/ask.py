"""`qwen-agentkit ask`: one question to files."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from qwen_agentkit.cli import answering
from qwen_agentkit.cli.documents import open_assistant
from qwen_agentkit.cli.model_options import ApiKey, Json, Model, ModelServer, is_extractive, model_config, model_name
from qwen_agentkit.cli.status import INTERRUPTED, OK, WrongUse, finish
from qwen_agentkit.cli.terminal import say, write_json

_EXAMPLE = 'qwen-agentkit ask handbook.pdf "How long is the motor guaranteed?"'


def ask(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES... QUESTION", help="Files, folders and addresses, then the question.", show_default=False
        ),
    ] = None,
    model: Model = None,
    model_server: ModelServer = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Answers a question from files, with the places it rests on.

    Without a model the answer is made of sentences quoted from the files, and nothing leaves this machine.

    \b
    Examples:
      qwen-agentkit ask handbook.pdf "How long is the motor guaranteed?"
      qwen-agentkit ask docs/ prices.xlsx "What does the charger cost?" --json
      qwen-agentkit ask docs/ "Who may lease a bicycle?" --model qwen-max
      qwen-agentkit ask docs/ "Who may lease a bicycle?" \\
          --model qwen3:8b --model-server http://localhost:11434/v1

    \b
    Exit status: 0 answered or declined, 1 the model failed, 2 wrong use or no
    readable file, 130 stopped by Ctrl-C.
    """
    finish("ask", lambda: _ask(list(arguments or []), model, model_server, api_key, as_json))


def _ask(arguments: list[str], model: str | None, model_server: str | None, api_key: str | None, as_json: bool) -> int:
    *files, question = _files_and_question(arguments)
    config = model_config(model, model_server, api_key)
    opened = open_assistant(files, config)
    result = answering.answer(opened.agent, [{"role": "user", "content": question}], show=not as_json)
    if result.stopped:
        say("Stopped.")
        return INTERRUPTED
    if as_json:
        write_json(result.to_json(opened.problems, model_name(config)))
    else:
        answering.show_sources(result, opened.sources, is_extractive(config), "ask")
    return OK


def _files_and_question(arguments: list[str]) -> list[str]:
    """The arguments again, once they are files and a question.

    Raises:
        WrongUse: One of the two is missing.
    """
    if not arguments:
        raise WrongUse(f"no file and no question given. Example: {_EXAMPLE}")
    last = arguments[-1]
    if os.path.exists(last):
        raise WrongUse(f"no question given: the last argument, {last}, is a file or folder. Example: {_EXAMPLE}")
    if not last.strip():
        raise WrongUse(f"the question is empty. Example: {_EXAMPLE}")
    if len(arguments) == 1:
        raise WrongUse(f"no file given: name files or folders before the question. Example: {_EXAMPLE}")
    return arguments
