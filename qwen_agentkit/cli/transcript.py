"""`qwen-agentkit transcript`: a conversation for people to read."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.status import OK, WrongUse, finish
from qwen_agentkit.cli.stored_sessions import StoreAddress, User, complete_session, must_find, open_sessions
from qwen_agentkit.cli.terminal import remark, write, write_json
from qwen_agentkit.session.session import LOCAL_USER

# Ending of the file that is written -> the form.
_FORMS_BY_ENDING = {".html": "html", ".htm": "html", ".json": "json"}


def transcript(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A saved team state or list of messages, in JSON; - is standard input.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", help="markdown, html or json; without it as --output is called, else markdown."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file, not to standard output.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="A stored conversation in place of a file.",
            autocompletion=complete_session,
        ),
    ] = None,
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Shows or exports a conversation: Markdown, HTML with a colour for each speaker, or JSON.

    \b
    Examples:
      qwen-agentkit transcript debate.json
      qwen-agentkit transcript debate.json -o debate.html --title "A debate"
      qwen-agentkit transcript --session plans --json

    \b
    Exit status: 0 done, 1 it cannot be written, 2 wrong use or no conversation, 130 Ctrl-C.
    """
    finish("transcript", lambda: _transcript(file, form, output, title, session, user, store, as_json))


def _transcript(
    file: str | None,
    form: str | None,
    output: str | None,
    title: str | None,
    session: str | None,
    user: str,
    store: str | None,
    as_json: bool,
) -> int:
    from qwen_agentkit.agents.group.transcripts import FORMS, messages_of, read_talk
    from qwen_agentkit.agents.group.transcripts import transcript as made

    if bool(file) == bool(session):
        raise WrongUse("name a file, or a stored conversation with --session. Example: qwen-agentkit transcript a.json")
    if form is not None and form not in FORMS:
        raise WrongUse(f"--form is one of {', '.join(FORMS)}, not {form!r}")
    if as_json and form not in (None, "json"):
        raise WrongUse(f"--json and --form {form} do not go together")
    heading = title or "Transcript"
    try:
        if session is not None:
            with open_sessions(store) as opened:
                held = must_find(opened, session, user)
                heading = title or held.info().title or session
                talk = held.messages()
        elif file == "-":
            import json

            talk = messages_of(json.load(sys.stdin))
        else:
            talk = read_talk(file or "")
    except OSError as error:
        raise WrongUse(f"{file or session} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise WrongUse(str(error)) from None
    if as_json and output is None:
        write_json([message.model_dump() for message in talk])
        return OK
    ending = os.path.splitext(output or "")[1].lower()
    text = made(talk, "json" if as_json else form or _FORMS_BY_ENDING.get(ending, "markdown"), heading)
    if output is None:
        write(text if text.endswith("\n") else text + "\n")
        return OK
    with open(output, "w", encoding="utf-8") as stream:
        stream.write(text)
    remark(f"{len(talk)} messages written to {output}")
    return OK
