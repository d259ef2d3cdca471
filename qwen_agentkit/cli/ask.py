"""`qwen-agentkit ask`: one question to files, or to an index of them."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from qwen_agentkit.cli import answering
from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.documents import Opened, open_assistant, open_indexed
from qwen_agentkit.cli.index_place import IndexPlace, named_index, open_index
from qwen_agentkit.cli.model_options import ApiKey, Model, ModelServer, is_extractive, model_config, model_name
from qwen_agentkit.cli.status import INTERRUPTED, OK, WrongUse, finish
from qwen_agentkit.cli.terminal import say, write_json

Explain = Annotated[
    bool, typer.Option("--explain", help="Say how the passages that fit the question best came to their scores.")
]
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
    index: IndexPlace = None,
    explain: Explain = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answers a question from files, or from an index of them, with the places it rests on.

    Without a model the answer is made of sentences quoted from the files, and nothing leaves this machine.

    \b
    Examples:
      qwen-agentkit ask handbook.pdf "How long is the motor guaranteed?"
      qwen-agentkit ask docs/ prices.xlsx "What does the charger cost?" --json
      qwen-agentkit ask docs/ "Who may lease a bicycle?" --model qwen-max
      qwen-agentkit ask docs/ "Who may lease a bicycle?" \\
          --model qwen3:8b --model-server http://localhost:11434/v1
      qwen-agentkit ask --index indexes/handbook "Who may lease a bicycle?" --explain

    \b
    Exit status: 0 answered or declined, 1 the model failed, 2 wrong use or no
    readable file, 130 stopped by Ctrl-C.
    """
    finish("ask", lambda: _ask(list(arguments or []), model, model_server, api_key, index, explain, as_json))


def _ask(
    arguments: list[str],
    model: str | None,
    model_server: str | None,
    api_key: str | None,
    index: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    *files, question = _files_and_question(arguments, index)
    config = model_config(model, model_server, api_key)
    if files:
        return _answer(open_assistant(files, config), question, config, explain, as_json)
    with open_index(index) as opened:
        return _answer(open_indexed(opened, config), question, config, explain, as_json)


def _answer(opened: Opened, question: str, config: dict[str, Any], explain: bool, as_json: bool) -> int:
    result = answering.answer(opened.agent, [{"role": "user", "content": question}], show=not as_json)
    if result.stopped:
        say("Stopped.")
        return INTERRUPTED
    explanations = opened.explain(question) if explain else []
    if as_json:
        shown = result.to_json(opened.problems, model_name(config))
        write_json(shown | {"explanations": [one.to_json() for one in explanations]} if explain else shown)
    else:
        answering.show_sources(result, opened.sources, is_extractive(config), "ask")
        answering.show_explanations(explanations)
    return OK


def _files_and_question(arguments: list[str], index: str | None) -> list[str]:
    """The arguments again, once they are files and a question; a question alone where an index is named.

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
    if index and len(arguments) > 1:
        raise WrongUse(f"name files or an index, not both; {arguments[0]} is taken for a file")
    if len(arguments) == 1 and not named_index(index):
        raise WrongUse(f"no file given: name files or folders before the question. Example: {_EXAMPLE}")
    return arguments
