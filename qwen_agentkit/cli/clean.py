"""`qwen-agentkit clean`: gives disk space of the workspace back."""

from __future__ import annotations

from typing import Annotated

import typer

from qwen_agentkit import settings
from qwen_agentkit.cli.common_options import Json, Quiet
from qwen_agentkit.cli.status import OK, finish
from qwen_agentkit.cli.terminal import write, write_json
from qwen_agentkit.cli.units import columns, seconds_of, size_text

_WORDS = {
    "documents": "parsed copies of documents",
    "web": "pages fetched from the web",
    "knowledge": "indexes over sets of files",
}


def clean(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="AGE", help="What was not used for so long, such as 30d, 12h or 0 for everything."
        ),
    ] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be erased, and erase nothing.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erases what the workspace keeps only to be faster and did not use for a time.

    Conversations, facts, indexes of your own (`index`) and files that agents wrote are not touched; what is erased
    is made again when it is wanted. What a running program has open stays.

    \b
    Examples:
      qwen-agentkit clean --dry-run
      qwen-agentkit clean --older-than 7d

    \b
    Exit status: 0 done, 1 it failed, 2 wrong use, 130 Ctrl-C.
    """
    finish("clean", lambda: _clean(older_than, dry_run, as_json))


def _clean(older_than: str, dry_run: bool, as_json: bool) -> int:
    from qwen_agentkit.rag.housekeeping import clean_workspace

    cleaned = clean_workspace(seconds_of(older_than), dry_run=dry_run)
    if as_json:
        parts = {one.kind: {"count": one.count, "bytes": one.bytes} for one in cleaned}
        write_json({"workspace": settings.DEFAULT_WORKSPACE, "dry_run": dry_run, **parts})
        return OK
    rows = [[_WORDS[one.kind], "" if one.count is None else str(one.count), size_text(one.bytes)] for one in cleaned]
    write("\n".join(columns(rows)) + "\n")
    write(f"{size_text(sum(one.bytes for one in cleaned))} {'would be ' if dry_run else ''}erased\n")
    return OK
