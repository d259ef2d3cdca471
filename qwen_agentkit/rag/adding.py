"""One call of `DocumentIndex.add`, `add_texts` or `remove`: what is to be read, written, and taken out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import DocParserError, QwenAgentKitError
from qwen_agentkit.rag.catalog import ChunkRow, Entry
from qwen_agentkit.rag.catalog_rows import changed_at
from qwen_agentkit.rag.ingest import (
    Read,
    chunk_hash,
    content_hash,
    may_now_open,
    options_key,
    read_files,
    rows_of,
    text_document,
    text_hash,
)
from qwen_agentkit.rag.report import AddReport, Problem
from qwen_agentkit.rag.sources import find_sources, is_url, lies_in, source_names
from qwen_agentkit.rag.workers import ReadProgress
from qwen_agentkit.rag.writing import Writing

if TYPE_CHECKING:
    from qwen_agentkit.rag.index import DocumentIndex
    from qwen_agentkit.rag.spread import Spreader


class Adding(Writing):
    """The work of one call, under the write lock: it finds out what changed and has it read.

    Args:
        index: The index.
        progress: Called as files and pages are read.
        cancelled: When true, no further file is begun.
        executor: Reads the files elsewhere; None reads them on this machine.
    """

    def __init__(
        self,
        index: DocumentIndex,
        progress: Callable[[ReadProgress], None] | None,
        cancelled: Callable[[], bool] | None,
        executor: Spreader | None = None,
    ) -> None:
        super().__init__(index)
        self._progress = progress
        self._cancelled = cancelled
        self._executor = executor
        self._options = options_key(index.chunk_tokens, index.overlap_tokens, index.reading)

    # ---- files and addresses

    def add_sources(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> AddReport:
        """Brings the index up to date with what `paths` name."""
        wanted = find_sources(paths)
        gone = self._gone(wanted.files, wanted.folders, wanted.patterns, wanted.missing)
        to_read: dict[str, Entry] = {}  # path to read -> what is known of it so far
        for file in wanted.files:
            found = self._look_at(file, file, "file")
            if found is not None:
                to_read[file] = found
        for url in wanted.urls:
            fetched = self._fetch(url)
            found = self._look_at(url, fetched, "url") if fetched is not None else None
            if found is not None and fetched is not None:
                to_read[fetched] = found
        self._read(to_read)
        self._flush()
        self._drop(gone)  # last, so that a file that was only renamed is not read again
        self._end()
        return self._report

    def _gone(self, files: list[str], folders: list[str], patterns: list[str], missing: list[str]) -> list[str]:
        """What the index holds from the places named and is no longer there."""
        held: dict[str, None] = {}
        for place in (*folders, *missing):
            held.update(dict.fromkeys(self._catalog.sources_below(place)))
        shapes = [*patterns, *(name for name in missing if has_magic(name))]
        if shapes:
            held.update(
                dict.fromkeys(
                    source for source in self._catalog.files() if any(fnmatchcase(source, shape) for shape in shapes)
                )
            )
        there = set(files)
        # A file that was named itself may have an ending that a walk of its folder leaves out: it must be gone, too.
        gone = [source for source in held if source not in there and not _has_content(source)]
        named = {name for name in missing if any(lies_in(source, name) or fnmatchcase(source, name) for source in gone)}
        self._report.problems += [
            Problem(name, f"{name}: there is no such file", "FileNotFoundError")
            for name in missing
            if name not in named
        ]
        return gone

    def _look_at(self, source: str, path: str, kind: str) -> Entry | None:
        """What is to be read: None when the source is as it was, or cannot be looked at, or was read elsewhere."""
        known = self._known.get(source)
        looked_at = time.time_ns()
        try:
            stamps = os.stat(path)
            if known is not None and may_now_open(known, self._index.reading):
                known = None
            if known is not None and known.is_as_read(stamps, self._options):
                self._stays(known)
                return None
            if not os.path.isfile(path):
                raise OSError("it is no regular file")
            entry = Entry(
                source,
                kind,
                content_hash(path),
                self._options,
                stamps.st_size,
                changed_at(stamps),
                looked_at,
            )
        except OSError as error:
            self._fail(
                Entry(source, kind, options=self._options), f"{source}: {error.strerror or error}", type(error).__name__
            )
            return None
        if known is not None and (known.hash, known.options) == (entry.hash, entry.options):
            with self._catalog.transaction() as database:
                touched = replace(known, size=entry.size, mtime=entry.mtime, looked_at=entry.looked_at)
                self._catalog.touch(database, touched)
            self._stays(known)
            return None
        twin = self._catalog.entry_of_content(entry.hash, entry.options)
        if twin is not None:
            self._copy(twin, entry)
            return None
        return entry

    def _copy(self, twin: Entry, entry: Entry) -> None:
        """The chunks of a document with the same content, as those of a renamed or copied file."""
        hits = self._catalog.chunks_of(twin.source)
        rows = [
            ChunkRow(
                hit.number, hit.page, hit.page_end, hit.sheet, hit.rows, hit.section, hit.start, hit.end, hit.tokens,
                hit.text, chunk_hash(hit.text),
            )
            for hit in hits
        ]  # fmt: skip
        title = twin.title
        if title == Path(twin.source).name:
            title = Path(entry.source).name
        self._put(replace(_merged(entry, twin), title=title), rows)

    def _fetch(self, url: str) -> str | None:
        from qwen_agentkit.utils.web_cache import fetch_file

        try:
            return str(fetch_file(url, self._web_folder(url)).path)
        except (QwenAgentKitError, ValueError, OSError) as error:
            known = self._known.get(url)
            if known is not None and known.state == "live":
                # The service is away; what was read stays.
                self._report.unchanged.append(url)
            self._report.problems.append(Problem(url, f"{url}: {error}", type(error).__name__))
            return None

    # ---- reading and writing

    def _read(self, to_read: dict[str, Entry]) -> None:
        for path, entry in to_read.items():
            if self._known.get(entry.source) is not None and entry.kind == "file":
                self._forget(path)  # the text of the old version
        for path, result in self._results(list(to_read)):
            entry = to_read[path]
            if isinstance(result, DocParserError):
                self._fail(entry, str(result.message or result), type(result).__name__)
                continue
            read, rows = result
            self._put(_merged(entry, read), rows)

    def _results(self, paths: Sequence[str]) -> Iterator[tuple[str, Read | DocParserError]]:
        """What is in files, read on this machine or by the executor."""
        index = self._index
        if self._executor is None or not paths:
            return self._read_here(paths)
        from qwen_agentkit.rag.spread import read_spread

        return read_spread(
            self._executor,
            paths,
            index.chunk_tokens,
            index.overlap_tokens,
            progress=self._progress,
            cancelled=self._cancelled,
            reading=index.reading,
            at_home=self._read_here,
        )

    def _read_here(self, paths: Sequence[str]) -> Iterator[tuple[str, Read | DocParserError]]:
        return read_files(
            list(paths),
            self._index.chunk_tokens,
            self._index.overlap_tokens,
            cache=self._cache,
            progress=self._progress,
            cancelled=self._cancelled,
            reading=self._index.reading,
        )

    # ---- texts, removing

    def add_texts(self, texts: Iterable[tuple[str, str] | tuple[str, str, str]]) -> AddReport:
        """Adds texts under ids."""
        seen: set[str] = set()
        for given in texts:
            source, text, title = _read_text(given)
            if source in seen:
                self._flush()  # the later text of an id counts
                self._known.forget(source)
            seen.add(source)
            digest = text_hash(f"{title or ''}\x00{text}")
            known = self._known.get(source)
            if known is not None and (known.hash, known.options, known.state) == (digest, self._options, "live"):
                self._report.unchanged.append(source)
                continue
            read, rows = rows_of(
                text_document(source, text, title), self._index.chunk_tokens, self._index.overlap_tokens
            )
            known_so_far = Entry(source, "text", digest, self._options, len(text), 0, time.time_ns())
            self._put(_merged(known_so_far, read), rows)
        self._flush()
        self._end()
        return self._report

    def remove(self, sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
        """Removes documents."""
        gone: dict[str, None] = {}
        for name in source_names(sources):
            if self._known.get(name) is not None:
                gone[name] = None
            elif not is_url(name):
                below = self._catalog.sources_below(os.path.realpath(os.path.expanduser(name)))
                gone.update(dict.fromkeys(below))
        self._drop(gone)
        self._end()
        return list(gone)


def _has_content(path: str) -> bool:
    """Whether a file is there and not empty; a walk of its folder passes over an empty one."""
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _merged(stamps: Entry, read: Entry) -> Entry:
    """What was read, with the stamps of its file."""
    return replace(
        read,
        source=stamps.source,
        kind=stamps.kind,
        hash=stamps.hash,
        options=stamps.options,
        size=stamps.size,
        mtime=stamps.mtime,
        looked_at=stamps.looked_at,
    )


def _read_text(given: Any) -> tuple[str, str, str | None]:
    is_sequence = isinstance(given, (tuple, list)) and len(given) in (2, 3)
    if is_sequence and all(isinstance(part, str) for part in given) and given[0]:
        return given[0], given[1], given[2] if len(given) == 3 else None
    raise ValueError(f"(id, text) or (id, text, title) is wanted for each text, not {given!r}")
