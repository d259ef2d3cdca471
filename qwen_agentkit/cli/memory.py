"""`qwen-agentkit memory`: what is remembered of a user over all conversations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.index_place import embedder
from qwen_agentkit.cli.status import OK, WRONG_USE, WrongUse, finish
from qwen_agentkit.cli.stored_sessions import StoreAddress, User, open_sessions
from qwen_agentkit.cli.terminal import remark, say, write, write_json
from qwen_agentkit.cli.units import columns, moment_text, shortened
from qwen_agentkit.session.session import LOCAL_USER

if TYPE_CHECKING:
    from qwen_agentkit.memory import LongTermMemory

_LONGEST_TEXT = 300

memory = typer.Typer(
    help="Long-term memory: facts of a user, and what was said in past conversations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@contextmanager
def _open(store: str | None) -> Iterator[LongTermMemory]:
    from qwen_agentkit.memory import LongTermMemory

    with open_sessions(store) as opened:
        held = LongTermMemory(opened, embedder())
        try:
            yield held
        finally:
            held.close()


@memory.command("list")
def list_facts(
    user: User = LOCAL_USER,
    agent: Annotated[str | None, typer.Option("--agent", help="Facts for that agent and for all.")] = None,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Lists the facts that are remembered of a user, the newest first.

    \b
    Example:
      qwen-agentkit memory list --user ada

    \b
    Exit status: 0 listed, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("memory list", lambda: _list(user, agent, store, as_json))


def _list(user: str, agent: str | None, store: str | None, as_json: bool) -> int:
    with _open(store) as held:
        facts = held.of_user(user, agent)
    if as_json:
        write_json([fact.to_dict() for fact in facts])
    elif facts:
        rows = [["id", "last said", "topic", "fact"]]
        for fact in facts:
            rows.append([fact.id, moment_text(fact.updated_at), fact.topic, shortened(fact.text, _LONGEST_TEXT)])
        write("\n".join(columns(rows)) + "\n")
    else:
        remark(f"Nothing is remembered of the user {user!r}.")
    return OK


@memory.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or words, in any language.")],
    user: User = LOCAL_USER,
    top: Annotated[int, typer.Option("--top", min=1, help="The most facts, and the most messages.")] = 5,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Finds facts, and messages of past conversations.

    \b
    Example:
      qwen-agentkit memory search "that company three days ago"

    \b
    Exit status: 0 searched, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("memory search", lambda: _search(query, user, top, store, as_json))


def _search(query: str, user: str, top: int, store: str | None, as_json: bool) -> int:
    with _open(store) as held:
        found = held.search(query, user, limit=top)
    if as_json:
        shown = []
        for one in found:
            kind, item = ("fact", one.fact) if one.fact is not None else ("message", one.fragment)
            shown.append({"kind": kind, "score": one.score, **(item.to_dict() if item is not None else {})})
        write_json(shown)
        return OK
    for one in found:
        if one.fragment is not None:
            where = f"{one.fragment.session_id}, message {one.fragment.message}"
        else:
            where = one.fact.id if one.fact is not None else ""
        write(f"{where}, {moment_text(one.created_at)}\n", "bold")
        write(f"{shortened(one.text, _LONGEST_TEXT)}\n\n")
    if not found:
        remark("Nothing fits.")
    return OK


@memory.command("add")
def add(
    text: Annotated[str, typer.Argument(metavar="FACT", help="What is to be remembered.")],
    topic: Annotated[str, typer.Option("--topic", help="What it is about.")] = "",
    agent: Annotated[str, typer.Option("--agent", help="The agent that it is for; without it all.")] = "",
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remembers a fact, and prints its id. One that is known already is renewed.

    \b
    Example:
      qwen-agentkit memory add "Ada is allergic to nuts." --topic food

    \b
    Exit status: 0 done, 1 the store failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("memory add", lambda: _add(text, topic, agent, user, store, as_json))


def _add(text: str, topic: str, agent: str, user: str, store: str | None, as_json: bool) -> int:
    if not text.strip():
        raise WrongUse("the fact is empty")
    with _open(store) as held:
        fact = held.add(text, user, topic=topic, agent=agent)
    if as_json:
        write_json(fact.to_dict())
    else:
        write(f"{fact.id}\n")
    return OK


@memory.command("forget")
def forget(
    fact_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids of facts.", show_default=False)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All facts of the user, with their index. Sessions: `sessions delete --all`.")
    ] = False,
    user: User = LOCAL_USER,
    store: StoreAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forgets facts, in the index too.

    \b
    Examples:
      qwen-agentkit memory forget fact_0a1b2c3d4e5f
      qwen-agentkit memory forget --all --user ada

    \b
    Exit status: 0 forgotten, 1 the store failed, 2 the user has none of these facts,
    130 Ctrl-C.
    """
    finish("memory forget", lambda: _forget(list(fact_ids or []), everything, user, store, as_json))


def _forget(fact_ids: list[str], everything: bool, user: str, store: str | None, as_json: bool) -> int:
    if bool(fact_ids) == everything:
        raise WrongUse("name facts, or all of them with --all; `qwen-agentkit memory list` shows them")
    with _open(store) as held:
        if everything:
            count = held.forget_user(user)
            absent: list[str] = []
        else:
            absent = [fact_id for fact_id in dict.fromkeys(fact_ids) if not held.delete(fact_id, user)]
            count = len(dict.fromkeys(fact_ids)) - len(absent)
    for fact_id in absent:
        say(f"the user {user!r} has no fact {fact_id!r}")
    if as_json:
        write_json({"forgotten": count})
    else:
        remark(f"{count} forgotten.")
    return OK if count or everything else WRONG_USE
