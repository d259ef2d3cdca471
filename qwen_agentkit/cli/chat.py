"""`qwen-agentkit chat`: a conversation, with or without files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qwen_agentkit.cli import answering
from qwen_agentkit.cli.ask import Explain
from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.documents import Opened, open_assistant, open_indexed
from qwen_agentkit.cli.index_place import IndexPlace, named_index, open_index
from qwen_agentkit.cli.model_options import ApiKey, Model, ModelServer, is_extractive, model_config, model_name
from qwen_agentkit.cli.status import FAILED, OK, WrongUse, finish
from qwen_agentkit.cli.stored_sessions import Busy, OnBusy, SessionId, StoreAddress, User, open_sessions
from qwen_agentkit.cli.terminal import prompt, remark, say, write_json
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.session.session import LOCAL_USER

if TYPE_CHECKING:
    from qwen_agentkit.session import Session

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
    index: IndexPlace = None,
    explain: Explain = False,
    session: SessionId = None,
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    on_busy: OnBusy = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keeps a conversation, about files or an index when some are named.

    One line is one message, typed or piped in. Ctrl-C stops an answer and keeps what was said; /help lists the
    commands. With --json each answer is one line of JSON. With --session the conversation is stored, and goes on
    where it was the next time.

    \b
    Examples:
      qwen-agentkit chat docs/
      qwen-agentkit chat --model qwen-max --session plans
      qwen-agentkit chat --index indexes/handbook
      printf 'What is the range?\\nAnd in winter?\\n' | qwen-agentkit chat handbook.pdf

    \b
    Exit status: 0 left, 1 the last answer failed, 2 wrong use or no readable file,
    130 Ctrl-C at the prompt.
    """
    finish(
        "chat",
        lambda: _chat(
            list(files or []),
            model_config(model, model_server, api_key),
            index,
            _Kept(session, user, store, on_busy) if session else None,
            explain,
            as_json,
        ),
    )


@dataclass(frozen=True)
class _Kept:
    """Where a conversation is kept: the options of the command line."""

    session_id: str
    user: str
    store: str | None
    on_busy: Busy | None


def _chat(
    files: list[str], config: dict[str, Any], index: str | None, kept: _Kept | None, explain: bool, as_json: bool
) -> int:
    if files and index:
        raise WrongUse("name files or an index, not both")
    with ExitStack() as stack:
        if not files and named_index(index):
            opened = open_indexed(stack.enter_context(open_index(index)), config)
        elif not files and is_extractive(config):
            raise WrongUse("name files to talk about, or a model with --model. Example: qwen-agentkit chat docs/")
        else:
            opened = open_assistant(files, config)
        talk = _Talk(opened, config, explain, as_json)
        if kept is not None:
            sessions = stack.enter_context(open_sessions(kept.store, kept.on_busy))
            talk.session = sessions.session(kept.session_id, kept.user)
            talk.conversation = [message.model_dump() for message in talk.session.messages()]
        return _converse(talk)


@dataclass
class _Talk:
    """A conversation under way.

    Args:
        opened: The assistant and what it reads.
        config: The model's configuration.
        explain: Whether answers are explained.
        as_json: Whether answers are JSON.
        session: Where it is kept, None where it is not.
        conversation: What was said.
    """

    opened: Opened
    config: dict[str, Any]
    explain: bool
    as_json: bool
    session: Session | None = None
    conversation: list[dict[str, Any]] = field(default_factory=list)


def _converse(talk: _Talk) -> int:
    read_line = _line_reader(talk.as_json)
    if sys.stdin.isatty():
        before = f", {len(talk.conversation)} messages so far" if talk.conversation else ""
        remark(f"{model_name(talk.config)}, {len(talk.opened.documents)} files{before}. /help lists the commands.")
    status = OK
    while (line := read_line()) is not None:
        line = line.strip()
        if not line:
            continue
        if line.startswith("/"):
            if line in ("/exit", "/quit"):
                break
            _command(line, talk)
            continue
        status = _turn(line, talk)
    return status


def _turn(line: str, talk: _Talk) -> int:
    """One question and its answer, which both stay in the conversation."""
    question = {"role": "user", "content": line}
    talk.conversation.append(question)
    # A stored conversation is put before the question by the run itself.
    asked = talk.conversation if talk.session is None else [question]
    try:
        if talk.session is not None and talk.session.is_busy():
            remark("An answer is under way in this conversation elsewhere. Ctrl-C stops waiting for it.")
        result = answering.answer(talk.opened.agent, asked, show=not talk.as_json, session=talk.session)
    except (QwenAgentKitError, ValueError, OSError) as error:
        # The question is taken back, so that the next one does not follow an unanswered one.
        talk.conversation.pop()
        say(f"qwen-agentkit chat: {error}")
        return FAILED
    talk.conversation.extend(result.messages)
    if result.stopped:
        say("Stopped.")
    elif talk.session is not None and not result.messages:
        remark("Your message went to the answer that is under way in this conversation elsewhere.")
    explanations = talk.opened.explain(line) if talk.explain and not result.stopped else []
    if talk.as_json:
        shown = result.to_json(talk.opened.problems, model_name(talk.config))
        write_json(shown | {"explanations": [one.to_json() for one in explanations]} if talk.explain else shown)
    elif not result.stopped:
        answering.show_sources(result, talk.opened.sources, is_extractive(talk.config), "chat")
        answering.show_explanations(explanations)
    return OK


def _command(line: str, talk: _Talk) -> None:
    if line == "/new":
        talk.conversation.clear()
        if talk.session is None:
            say("A new conversation.")
        else:
            # What was said stays stored under its own id.
            talk.session = talk.session.store.session(None, talk.session.user_id)
            say(f"A new conversation, stored as {talk.session.session_id}.")
    elif line == "/files":
        for name in talk.opened.documents:
            say(name)
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
