"""`qwen-agentkit chat`: a conversation, with or without files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from qwen_agentkit.cli import answering
from qwen_agentkit.cli.documents import Opened, open_assistant
from qwen_agentkit.cli.model_options import ApiKey, Json, Model, ModelServer, is_extractive, model_config, model_name
from qwen_agentkit.cli.status import FAILED, OK, WrongUse, finish
from qwen_agentkit.cli.terminal import prompt, say, write_json
from qwen_agentkit.errors import QwenAgentKitError

PROMPT = "\n> "

_HELP = """/files  what the conversation can read
/new    forget the conversation and begin another
/help   this list
/exit   leave (as does the end of input)
Ctrl-C stops an answer and keeps what was said; at the prompt it leaves."""


def chat(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILES", help="Files, folders and addresses.", show_default=False)
    ] = None,
    model: Model = None,
    model_server: ModelServer = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Keeps a conversation, about files when some are named.

    One line is one message, typed or piped in. Ctrl-C stops an answer and keeps what was said; /help lists the
    commands. With --json each answer is one line of JSON.

    \b
    Examples:
      qwen-agentkit chat docs/
      qwen-agentkit chat --model qwen-max
      printf 'What is the range?\\nAnd in winter?\\n' | qwen-agentkit chat handbook.pdf

    \b
    Exit status: 0 left, 1 the last answer failed, 2 wrong use or no readable file,
    130 Ctrl-C at the prompt.
    """
    finish("chat", lambda: _chat(list(files or []), model, model_server, api_key, as_json))


def _chat(files: list[str], model: str | None, model_server: str | None, api_key: str | None, as_json: bool) -> int:
    config = model_config(model, model_server, api_key)
    if not files and is_extractive(config):
        raise WrongUse("name files to talk about, or a model with --model. Example: qwen-agentkit chat docs/")
    opened = open_assistant(files, config)
    read_line = _line_reader(as_json)
    if sys.stdin.isatty():
        say(f"{model_name(config)}, {len(opened.sources.files)} files. /help lists the commands.")
    conversation: list[dict[str, Any]] = []
    status = OK
    while (line := read_line()) is not None:
        line = line.strip()
        if not line:
            continue
        if line.startswith("/"):
            if line in ("/exit", "/quit"):
                break
            _command(line, conversation, opened)
            continue
        status = _turn(line, conversation, opened, config, as_json)
    return status


def _turn(line: str, conversation: list[dict[str, Any]], opened: Opened, config: dict[str, Any], as_json: bool) -> int:
    """One question and its answer, which both stay in the conversation."""
    conversation.append({"role": "user", "content": line})
    try:
        result = answering.answer(opened.agent, conversation, show=not as_json)
    except (QwenAgentKitError, ValueError, OSError) as error:
        # The question is taken back, so that the next one does not follow an unanswered one.
        conversation.pop()
        say(f"qwen-agentkit chat: {error}")
        return FAILED
    conversation.extend(result.messages)
    if result.stopped:
        say("Stopped.")
    if as_json:
        write_json(result.to_json(opened.problems, model_name(config)))
    elif not result.stopped:
        answering.show_sources(result, opened.sources, is_extractive(config), "chat")
    return OK


def _command(line: str, conversation: list[dict[str, Any]], opened: Opened) -> None:
    if line == "/new":
        conversation.clear()
        say("A new conversation.")
    elif line == "/files":
        for file in opened.sources.files:
            say(opened.sources.show(file))
    elif line == "/help":
        say(_HELP)
    else:
        say(f"There is no command {line}. /help lists them.")


def _line_reader(as_json: bool) -> Callable[[], str | None]:
    """A function that gives the next line of input, None at its end; on a terminal it asks for it."""
    if not sys.stdin.isatty():
        return lambda: sys.stdin.readline() or None
    if as_json or not sys.stdout.isatty():
        # Standard output is for answers: the prompt goes elsewhere, and lines are edited as the terminal can.
        def read_after_prompt() -> str | None:
            prompt(PROMPT)
            return sys.stdin.readline() or None

        return read_after_prompt
    _enable_line_editing()

    def read() -> str | None:
        try:
            return input(PROMPT)
        except EOFError:
            return None

    return read


def _enable_line_editing() -> None:
    try:
        import readline  # noqa: F401  (importing it gives input() history and arrow keys)
    except ImportError:
        # A Python without it still reads lines.
        pass
