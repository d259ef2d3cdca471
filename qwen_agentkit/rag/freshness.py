"""Whether an index says what its files say now, found out without writing: a stat for each file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from qwen_agentkit.rag.ingest import may_now_open, options_key
from qwen_agentkit.rag.report import Problem
from qwen_agentkit.rag.sources import find_sources, lies_in

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex


@dataclass
class Freshness:
    """How an index stands to what it is to hold.

    Args:
        sources: Files and addresses that are named, in that order.
        outdated: Those that the index does not hold, or not as they are now. Addresses always count: whether they
            changed is known only after asking.
        gone: Sources that it holds from the named places and that are there no more.
        problems: Named files that were tried and could not be read, and names behind which there is nothing.
    """

    sources: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_current(self) -> bool:
        return not self.outdated and not self.gone


def look_at(index: DocumentIndex, paths: Iterable[str | os.PathLike[str]]) -> Freshness:
    """Compares an index with the files, folders, patterns and addresses that it is to hold."""
    wanted = find_sources(paths)
    options = options_key(index.chunk_tokens, index.overlap_tokens, index.reading)
    known = {entry.source: entry for entry in index.stamped()}
    fresh = Freshness(sources=[*wanted.files, *wanted.urls], outdated=list(wanted.urls))
    for file in wanted.files:
        entry = known.get(file)
        try:
            stamps = os.stat(file)
        except OSError:
            fresh.outdated.append(file)
            continue
        if entry is None or may_now_open(entry, index.reading) or not entry.is_as_read(stamps, options):
            fresh.outdated.append(file)
        elif entry.state == "failed":
            kind, reason = entry.failure
            fresh.problems.append(Problem(file, reason, kind))
    there = set(wanted.files)
    places = [*wanted.folders, *wanted.missing]
    for source, entry in known.items():
        if entry.kind != "file" or source in there or os.path.exists(source):
            continue
        if any(lies_in(source, place) or fnmatchcase(source, place) for place in (*places, *wanted.patterns)):
            fresh.gone.append(source)
    for name in wanted.missing:
        if not any(lies_in(source, name) or fnmatchcase(source, name) for source in fresh.gone):
            fresh.problems.append(Problem(name, "there is no such file", "FileNotFoundError"))
    return fresh
