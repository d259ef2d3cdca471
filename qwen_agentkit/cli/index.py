"""`qwen-agentkit index`: an index of documents, made once and asked often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from qwen_agentkit.cli.citations import citation_line
from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.index_place import IndexPlace, open_index
from qwen_agentkit.cli.sources import Sources
from qwen_agentkit.cli.status import INTERRUPTED, OK, WRONG_USE, WrongUse, finish
from qwen_agentkit.cli.terminal import remark, say, write, write_json
from qwen_agentkit.cli.units import columns, moment_text, seconds_of, size_text

if TYPE_CHECKING:
    from qwen_agentkit.rag.hits import Hit
    from qwen_agentkit.rag.index import DocumentIndex
    from qwen_agentkit.rag.report import AddReport

_LONGEST_QUOTE = 400

index = typer.Typer(
    help="An index of documents: made once, searched and asked often (`ask` and `chat` take --index too).",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@index.command("add")
def add(
    files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Files, folders, patterns and addresses.")],
    place: IndexPlace = None,
    password: Annotated[
        str | None,
        typer.Option(
            "--password",
            envvar="QWEN_AGENTKIT_PASSWORD",
            show_envvar=True,
            help="Opens encrypted PDFs; their text is then readable in the index. Better given in the environment.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Brings the index up to date with files.

    What did not change is not read again. A folder is reconciled: what is gone from it leaves the index. Ctrl-C
    stops, and what is done so far stays.

    \b
    Examples:
      qwen-agentkit index add docs/ prices.xlsx
      qwen-agentkit index add 'papers/**/*.pdf' --index indexes/papers

    \b
    Exit status: 0 done (what cannot be read is named), 1 it failed, 2 wrong use or
    nothing could be read, 130 Ctrl-C.
    """
    finish("index add", lambda: _add(files, place, password, as_json))


def _add(files: list[str], place: str | None, password: str | None, as_json: bool) -> int:
    from qwen_agentkit.cancel import CancelToken
    from qwen_agentkit.cli.interrupts import stopping
    from qwen_agentkit.cli.progress import reading

    _check_names(files)
    token = CancelToken()
    with open_index(place, make=True, password=password) as opened:
        with stopping(token), reading() as progress:
            report = opened.add(files, progress=progress, cancelled=lambda: token.cancelled)
        where = str(opened.path)
    for problem in report.problems:
        say(f"{problem.source}: {_reason(problem.source, problem.reason)}", "yellow")
    if as_json:
        write_json({"index": where, **report.to_json()})
    else:
        write(f"{_counts(report)}: {where}\n")
    if token.cancelled:
        say("Stopped; what was read stays in the index.")
        return INTERRUPTED
    held = report.added or report.updated or report.unchanged or report.removed
    return OK if held or not report.problems else WRONG_USE


def _check_names(names: list[str]) -> None:
    if not all(name.strip() for name in names):
        raise WrongUse("a name is empty; `.` is the current folder")


def _reason(source: str, reason: str) -> str:
    """Why a source could not be read, without its name, which stands before it."""
    return reason.removeprefix(f"{source}: ")


def _counts(report: AddReport) -> str:
    names = ("added", "updated", "unchanged", "removed")
    return ", ".join(f"{len(getattr(report, name))} {name}" for name in names)


@index.command("list")
def list_sources(place: IndexPlace = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Lists what the index holds.

    \b
    Example:
      qwen-agentkit index list --json

    \b
    Exit status: 0 listed, 1 it failed, 2 there is no index, 130 Ctrl-C.
    """
    finish("index list", lambda: _list(place, as_json))


def _list(place: str | None, as_json: bool) -> int:
    with open_index(place) as opened:
        held = opened.sources()
    if as_json:
        write_json(held)
    elif held:
        rows = [["source", "kind", "pages", "chunks", "added"]]
        for entry in held:
            pages = "" if entry["pages"] is None else str(entry["pages"])
            moment = moment_text(entry["added_at"])
            rows.append([entry["source"], entry["file_type"], pages, str(entry["chunks"]), moment])
        write("\n".join(columns(rows)) + "\n")
    else:
        remark("The index is empty.")
    return OK


@index.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or words, in any language.")],
    place: IndexPlace = None,
    top: Annotated[int, typer.Option("--top", min=1, help="The most passages.")] = 5,
    within: Annotated[
        list[str] | None, typer.Option("--in", metavar="SOURCE", help="A file, folder or pattern to stay within.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each score is made of.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Finds the passages that fit a query.

    \b
    Examples:
      qwen-agentkit index search "guarantee of the motor"
      qwen-agentkit index search KX-41 --in manuals/ --top 3 --explain

    \b
    Exit status: 0 searched (also when nothing was found), 1 it failed, 2 wrong use or
    there is no index, 130 Ctrl-C.
    """
    finish("index search", lambda: _search(query, place, top, within, explain, as_json))


def _search(query: str, place: str | None, top: int, within: list[str] | None, explain: bool, as_json: bool) -> int:
    if not query.strip():
        raise WrongUse('the query is empty. Example: qwen-agentkit index search "guarantee of the motor"')
    with open_index(place) as opened:
        hits = opened.search(query, top, {"source": within} if within else None)
        if as_json:
            write_json([_hit_json(opened, hit, explain) for hit in hits])
            return OK
        for number, hit in enumerate(hits, 1):
            write(citation_line(hit_citation(hit, number), Sources()) + "\n", "bold")
            write(f"{telling_part(hit.text, query)}\n")
            if explain:
                write(f"{opened.explain(hit)}\n", "dim")
            write("\n")
    if not hits:
        remark("Nothing fits.")
    return OK


def hit_citation(hit: Hit, number: int) -> dict[str, Any]:
    """A hit in the shape of a citation, for `citation_line`."""
    names = ("source", "page", "page_end", "sheet", "rows", "section")
    return {"n": number, **{name: getattr(hit, name) for name in names}}


def telling_part(text: str, query: str) -> str:
    """The sentence of a passage that fits a query best, on one line."""
    from qwen_agentkit.cli.units import shortened
    from qwen_agentkit.utils.text.bm25 import rank
    from qwen_agentkit.utils.text.sentences import split_sentences

    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    scores = rank(query, sentences)
    best = max(range(len(sentences)), key=lambda at: (scores[at], -at))
    return shortened(sentences[best], _LONGEST_QUOTE)


def _hit_json(opened: DocumentIndex, hit: Hit, explain: bool) -> dict[str, Any]:
    names = ("source", "title", "page", "page_end", "sheet", "rows", "section", "text", "start", "end", "score", "why")
    shown = {name: getattr(hit, name) for name in names}
    return {**shown, "explanation": opened.explain(hit).to_json()} if explain else shown


@index.command("remove")
def remove(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCES...", help="Files, folders (all below them), addresses, ids.")
    ],
    place: IndexPlace = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Removes documents from the index and erases their text. The files themselves stay.

    \b
    Example:
      qwen-agentkit index remove docs/old/ https://example.org/terms.html

    \b
    Exit status: 0 removed, 1 it failed, 2 none of them is in the index, 130 Ctrl-C.
    """
    finish("index remove", lambda: _remove(sources, place, as_json))


def _remove(sources: list[str], place: str | None, as_json: bool) -> int:
    _check_names(sources)
    with open_index(place) as opened:
        gone = opened.remove(sources)
    if as_json:
        write_json({"removed": gone})
    else:
        write("".join(f"removed {source}\n" for source in gone))
    if not gone:
        say("None of these is in the index; `qwen-agentkit index list` shows what is.")
    return OK if gone else WRONG_USE


@index.command("stats")
def stats(place: IndexPlace = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Says how much the index holds, and what it takes on disk.

    \b
    Example:
      qwen-agentkit index stats --index indexes/papers

    \b
    Exit status: 0 said, 1 it failed, 2 there is no index, 130 Ctrl-C.
    """
    finish("index stats", lambda: _stats(place, as_json))


def _stats(place: str | None, as_json: bool) -> int:
    with open_index(place) as opened:
        facts = opened.stats
        unread = [
            {"source": entry.source, "kind": entry.failure[0], "reason": _reason(entry.source, entry.failure[1])}
            for entry in opened.entries()
            if entry.state == "failed"
        ]
    if as_json:
        write_json({**facts, "unread": unread})
        return OK
    shown = {**facts, "bytes": size_text(facts["bytes"]), "embedder": facts["embedder"] or "none"}
    write("\n".join(columns([[name, str(value)] for name, value in shown.items()])) + "\n")
    for entry in unread:
        write(f"cannot be read: {entry['source']}: {entry['reason']}\n", "yellow")
    return OK


@index.command("clean")
def clean(
    place: IndexPlace = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Erase, too, kept copies of documents that were not used for so long, such as 30d or 12h.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Gives disk space back: packs the index, and with --older-than drops old copies of documents.

    Nothing that the index answers from is lost; a document whose copy is gone is read again when it changes.

    \b
    Example:
      qwen-agentkit index clean --older-than 30d

    \b
    Exit status: 0 done, 1 it failed, 2 wrong use or there is no index, 130 Ctrl-C.
    """
    finish("index clean", lambda: _clean(place, older_than, as_json))


def _clean(place: str | None, older_than: str | None, as_json: bool) -> int:
    age = None if older_than is None else seconds_of(older_than)
    with open_index(place) as opened:
        freed = opened.clean()
        cache = opened.document_cache() if age is not None else None
        erased = cache.clean(age or 0.0) if cache is not None else 0
    if as_json:
        write_json({"index_bytes": freed, "copies_bytes": erased})
    else:
        write(f"{size_text(freed)} of the index, {size_text(erased)} of kept copies\n")
    return OK
