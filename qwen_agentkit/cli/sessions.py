"""`qwen-agentkit sessions`: stored conversations."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.status import OK, WrongUse, finish
from qwen_agentkit.cli.stored_sessions import StoreAddress, User, complete_session, must_find, open_sessions
from qwen_agentkit.cli.terminal import remark, write, write_json
from qwen_agentkit.cli.units import columns, moment_text, shortened
from qwen_agentkit.session.session import LOCAL_USER

_LONGEST_TITLE = 60
_LONGEST_FRAGMENT = 300

sessions = typer.Typer(
    help="Stored conversations: of `chat --session`, of the server, of the web page.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the session.", autocompletion=complete_session)]


@sessions.command("list")
def list_sessions(
    user: User = LOCAL_USER,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The most sessions.")] = 50,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Lists a user's conversations, the last used first.

    \b
    Example:
      qwen-agentkit sessions list --limit 10

    \b
    Exit status: 0 listed, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("sessions list", lambda: _list(user, limit, store, as_json))


def _list(user: str, limit: int, store: str | None, as_json: bool) -> int:
    with open_sessions(store) as opened:
        held = opened.sessions(user, limit)
    if as_json:
        write_json([info.to_dict() for info in held])
    elif held:
        rows = [["id", "last used", "messages", "title"]]
        for info in held:
            title = shortened(info.title, _LONGEST_TITLE)
            rows.append([info.session_id, moment_text(info.updated_at), str(info.messages), title])
        write("\n".join(columns(rows)) + "\n")
    else:
        remark(f"The user {user!r} has no sessions.")
    return OK


@sessions.command("show")
def show(
    session_id: Id, user: User = LOCAL_USER, store: StoreAddress = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Shows a conversation.

    \b
    Example:
      qwen-agentkit sessions show plans

    \b
    Exit status: 0 shown, 1 the store failed, 2 there is no such session, 130 Ctrl-C.
    """
    finish("sessions show", lambda: _show(session_id, user, store, as_json))


def _show(session_id: str, user: str, store: str | None, as_json: bool) -> int:
    with open_sessions(store) as opened:
        held = must_find(opened, session_id, user).export()
    if as_json:
        write_json(held)
        return OK
    from qwen_agentkit.agents.group.transcripts import transcript

    write(transcript(held["conversation"], title=held["title"] or session_id))
    return OK


@sessions.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or words, in any language.")],
    user: User = LOCAL_USER,
    top: Annotated[int, typer.Option("--top", min=1, help="The most messages.")] = 10,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Finds messages in a user's conversations.

    \b
    Example:
      qwen-agentkit sessions search "the company from Oslo"

    \b
    Exit status: 0 searched, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("sessions search", lambda: _search(query, user, top, store, as_json))


def _search(query: str, user: str, top: int, store: str | None, as_json: bool) -> int:
    with open_sessions(store) as opened:
        found = opened.search(query, user, top)
    if as_json:
        write_json([fragment.to_dict() for fragment in found])
        return OK
    for fragment in found:
        where = f"{fragment.session_id}, message {fragment.message}, {moment_text(fragment.created_at)}"
        write(f"{where}, {shortened(fragment.title, _LONGEST_TITLE)}\n", "bold")
        write(f"{fragment.role}: {shortened(fragment.text, _LONGEST_FRAGMENT)}\n\n")
    if not found:
        remark("Nothing fits.")
    return OK


@sessions.command("rename")
def rename(
    session_id: Id,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Gives a conversation another title.

    \b
    Example:
      qwen-agentkit sessions rename plans "Plans for spring"

    \b
    Exit status: 0 done, 1 the store failed, 2 there is no such session, 130 Ctrl-C.
    """
    finish("sessions rename", lambda: _rename(session_id, title, user, store, as_json))


def _rename(session_id: str, title: str, user: str, store: str | None, as_json: bool) -> int:
    if not title.strip():
        raise WrongUse("the title is empty")
    with open_sessions(store) as opened:
        session = must_find(opened, session_id, user)
        session.rename(title)
        if as_json:
            write_json(session.info().to_dict())
        else:
            remark(f"{session_id} is called {session.info().title!r} now.")
    return OK


@sessions.command("fork")
def fork(
    session_id: Id,
    at: Annotated[int, typer.Option("--at", min=0, help="The last message to take over, from 0.")],
    new_id: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Id of the new session; without it one is made.")
    ] = None,
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Makes a new conversation of the beginning of another, and prints its id.

    \b
    Example:
      qwen-agentkit sessions fork plans --at 3 --as other-plans

    \b
    Exit status: 0 done, 1 the store failed, 2 there is no such session or message, 130 Ctrl-C.
    """
    finish("sessions fork", lambda: _fork(session_id, at, new_id, user, store, as_json))


def _fork(session_id: str, at: int, new_id: str | None, user: str, store: str | None, as_json: bool) -> int:
    with open_sessions(store) as opened:
        session = must_find(opened, session_id, user)
        try:
            made = session.fork(at, new_id)
        except ValueError as error:
            raise WrongUse(str(error)) from None
        if as_json:
            write_json(made.info().to_dict())
        else:
            write(f"{made.session_id}\n")
    return OK


@sessions.command("export")
def export(user: User = LOCAL_USER, store: StoreAddress = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Prints everything that is kept of a user as JSON: conversations, and facts of long-term memory.

    \b
    Example:
      qwen-agentkit sessions export --user ada > ada.json

    \b
    Exit status: 0 done, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("sessions export", lambda: _export(user, store))


def _export(user: str, store: str | None) -> int:
    from qwen_agentkit.memory.facts import FactStore

    with open_sessions(store) as opened:
        kept = opened.export_user(user)
        kept["facts"] = [fact.to_dict() for fact in FactStore(opened).of_user(user)]
    write_json(kept)
    return OK


@sessions.command("delete")
def delete(
    session_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids of sessions.", show_default=False)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All sessions of the user. Facts are forgotten with `memory forget --all`.")
    ] = False,
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erases conversations, for good.

    \b
    Examples:
      qwen-agentkit sessions delete plans other-plans
      qwen-agentkit sessions delete --all --user ada

    \b
    Exit status: 0 erased, 1 the store failed, 2 there is no such session (then none is
    erased), 130 Ctrl-C.
    """
    finish("sessions delete", lambda: _delete(list(session_ids or []), everything, user, store, as_json))


def _delete(session_ids: list[str], everything: bool, user: str, store: str | None, as_json: bool) -> int:
    if bool(session_ids) == everything:
        raise WrongUse("name sessions, or all of them with --all. Example: qwen-agentkit sessions delete plans")
    with open_sessions(store) as opened:
        if everything:
            count = opened.delete_user(user)
        else:
            held = [must_find(opened, session_id, user) for session_id in dict.fromkeys(session_ids)]
            for session in held:
                session.delete()
            count = len(held)
    if as_json:
        write_json({"deleted": count})
    else:
        remark(f"{count} erased.")
    return OK
