"""Documents as lists of chunks, read once: what a set of files says right now.

An unchanged file costs a stat; an edited one is read again. Reading happens in worker processes, results are kept
on disk by content, and the chunks in use also in memory.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError, ToolServiceError
from qwen_agentkit.rag.cache import DocumentCache, FileState
from qwen_agentkit.rag.chunking import Chunk, chunk_document
from qwen_agentkit.rag.sources import Problem, find_sources, is_address
from qwen_agentkit.rag.workers import ReadProgress, read_documents
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.web_cache import fetch_file

# Chunk lists that are kept in memory.
_MOST_IN_MEMORY = 2_000


@dataclass
class Shelf:
    """What a set of files holds.

    Args:
        chunks: Chunks of each file that could be read, by its source, in the order given.
        versions: Content hash of each of them.
        problems: `{"file", "reason"}` for the others.
        warnings: What was survived while reading, by source.
    """

    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: dict[str, list[str]] = field(default_factory=dict)


class Library:
    """Reads files and cuts them into chunks, each content once.

    Args:
        cache: Where results are kept; None is the workspace's.
    """

    def __init__(self, cache: DocumentCache | None = None) -> None:
        self._cache = cache or DocumentCache()
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, int], list[Chunk]] = OrderedDict()

    def shelf(
        self,
        files: Sequence[str | os.PathLike[str]],
        chunk_tokens: int,
        progress: Callable[[ReadProgress], None] | None = None,
    ) -> Shelf:
        """The chunks of files as they are now.

        Args:
            files: Paths, folders, patterns, addresses.
            chunk_tokens: The most tokens of a chunk.
            progress: Told how far reading is.
        """
        sources = find_sources(files)
        shelf = Shelf(problems=list(sources.problems))
        paths: dict[str, str] = {}
        states: dict[str, FileState] = {}
        for source in sources.files:
            try:
                path = local_copy(source) if is_address(source) else source
                states[source] = self._cache.state_of(path)
            except (OSError, ToolServiceError, ValueError) as error:
                shelf.problems.append({"file": sources.show(source), "reason": _reason(error)})
                continue
            paths[source] = path
        found = {source: self._remembered(source, states[source], chunk_tokens) for source in paths}
        missing = [source for source in paths if found[source] is None]
        for source, result in self._read([paths[source] for source in missing], missing, chunk_tokens, progress):
            if isinstance(result, DocParserError):
                shelf.problems.append({"file": sources.show(source), "reason": _reason(result)})
            else:
                found[source], warnings = result
                if warnings:
                    shelf.warnings[source] = warnings
                self._remember(source, states[source], chunk_tokens, found[source] or [])
        for source in paths:
            chunks = found[source]
            if chunks is not None:
                shelf.chunks[source] = chunks
                shelf.versions[source] = states[source].hash
        return shelf

    def _read(
        self,
        paths: list[str],
        sources: list[str],
        chunk_tokens: int,
        progress: Callable[[ReadProgress], None] | None,
    ) -> Any:
        by_path = dict(zip(paths, sources, strict=True))
        for path, result in read_documents(paths, cache=self._cache, progress=progress) if paths else ():
            source = by_path[path]
            if isinstance(result, DocParserError):
                yield source, result
                continue
            result.source = source
            yield source, (chunk_document(result, chunk_tokens), list(result.warnings))

    def _remembered(self, source: str, state: FileState, chunk_tokens: int) -> list[Chunk] | None:
        key = (source, state.hash, chunk_tokens)
        with self._lock:
            chunks = self._known.get(key)
            if chunks is not None:
                self._known.move_to_end(key)
            return chunks

    def _remember(self, source: str, state: FileState, chunk_tokens: int, chunks: list[Chunk]) -> None:
        with self._lock:
            self._known[source, state.hash, chunk_tokens] = chunks
            while len(self._known) > _MOST_IN_MEMORY:
                self._known.popitem(last=False)


def local_copy(address: str) -> str:
    """The path of an address's document, fetched again only when it has changed.

    Raises:
        ToolServiceError: It cannot be fetched.
        ValueError: It is no http(s) address.
    """
    run = current_run()
    folder = Path(settings.DEFAULT_WORKSPACE) / "web"
    return str(fetch_file(address, folder, cancel=run.cancel if run is not None else None).path)


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(getattr(error, "message", None) or error)
