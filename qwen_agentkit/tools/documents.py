"""How the document tools come to a document: which files are meant, and each read once.

Parsed documents and chunks are kept on disk by content (`rag.cache`), and the last ones in memory, so an unchanged
file costs a stat and an edited one is read again.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError, ToolArgumentsError, ToolServiceError
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.code.conversation import conversation_mark
from qwen_agentkit.tools.records import Record, record_of_chunks
from qwen_agentkit.utils.paths import allowed_path, may_be_read
from qwen_agentkit.utils.work_dir import name_of

if TYPE_CHECKING:
    from qwen_agentkit.rag.cache import DocumentCache
    from qwen_agentkit.rag.document import Document

# Kinds of documents, for descriptions; more are read (see `rag.reading`).
SUPPORTED_FILE_TYPES = ["pdf", "docx", "pptx", "txt", "html", "csv", "tsv", "xlsx", "xls"]
# Seconds for which a document of the web is used without asking whether it changed.
_WEB_MAX_AGE = 300.0
# Characters of all records that stay in memory.
_MAX_KEPT_CHARS = 40_000_000


@dataclass
class Problem:
    """A file that could not be read, and why, for a person."""

    file: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        return {"file": self.file, "reason": self.reason}


@dataclass
class Sources:
    """Files that are meant, and what was wrong with the rest.

    Args:
        paths: Source (absolute path, or address) -> the local file that holds it.
        problems: What could not be found or fetched.
    """

    paths: dict[str, Path] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def find_sources(files: Iterable[str]) -> Sources:
    """The documents that paths, folders, patterns and addresses mean, each once (see `rag.sources`).

    Addresses are fetched by the guarded client.
    """
    from qwen_agentkit.rag import sources as names

    found = Sources()
    for file in files:
        wanted = names.find_sources(file)
        for url in wanted.urls:
            _fetch_into(found, url)
        for path in wanted.files:
            found.paths.setdefault(path, Path(path))
        if wanted.missing:
            found.problems.append(Problem(file, "there is no such file"))
        elif wanted.folders and not wanted.files:
            found.problems.append(Problem(file, "the folder holds no document that can be read"))
    return found


def _fetch_into(found: Sources, url: str) -> None:
    from qwen_agentkit.utils.web_cache import fetch_file

    run = current_run()
    folder = Path(settings.DEFAULT_WORKSPACE, "documents", "web")
    try:
        held = fetch_file(url, folder, max_age=_WEB_MAX_AGE, cancel=run.cancel if run is not None else None)
    except (ToolServiceError, ValueError, OSError) as error:
        message = error.message if isinstance(error, ToolServiceError) else str(error)
        found.problems.append(Problem(url, message or type(error).__name__))
    else:
        found.paths.setdefault(url, held.path)


def read_sources(sources: Sources, keep_images: bool = False) -> Iterator[tuple[str, Document]]:
    """Reads documents, in worker processes where they are not known yet, in the order of `sources`.

    What cannot be read is added to `sources.problems`. `keep_images` keeps the pictures.

    Yields:
        (source, document). A document of the web has its address as source.
    """
    from qwen_agentkit.rag.workers import read_documents

    run = current_run()
    read: dict[str, Document | DocParserError] = {}
    paths = list(dict.fromkeys(str(path) for path in sources.paths.values()))
    for path, result in read_documents(
        paths,
        keep_images=keep_images,
        cache=document_cache(),
        cancelled=(lambda: run.cancel.cancelled) if run is not None else None,
    ):
        read[path] = result
    if run is not None:
        run.cancel.raise_if_cancelled()
    for source, held in sources.paths.items():
        outcome = read.get(str(held))
        if isinstance(outcome, DocParserError):
            sources.problems.append(Problem(source, outcome.message or str(outcome)))
        elif outcome is not None:
            yield source, _as_of(source, held, outcome)


def _as_of(source: str, path: Path, document: Document) -> Document:
    if source == document.source:
        return document
    from dataclasses import replace

    # A title that is only the name of the copy on disk gives way to the address's own name.
    title = name_of(source) if document.title == path.name else document.title
    return replace(document, source=source, title=title)


def load_records(sources: Sources, chunk_tokens: int) -> list[Record]:
    """The documents cut into chunks, in the order of `sources`; problems are added there.

    Args:
        sources: What to read.
        chunk_tokens: The most tokens of a chunk.

    Raises:
        RunCancelled: The run was cancelled.
    """
    from qwen_agentkit.rag.chunking import chunk_document

    cache = document_cache()
    records: dict[str, Record] = {}
    keys: dict[str, tuple[str, str, int]] = {}
    missing = Sources(problems=sources.problems)
    for source, path in sources.paths.items():
        try:
            keys[source] = (source, cache.state_of(path).hash, chunk_tokens)
        except OSError as error:
            sources.problems.append(Problem(source, error.strerror or str(error)))
            continue
        held = _kept.get(keys[source])
        if held is None:
            missing.paths[source] = path
        else:
            records[source] = held
    for source, document in read_sources(missing):
        made = record_of_chunks(source, document.title, chunk_document(document, chunk_tokens=chunk_tokens))
        _kept.put(keys[source], made)
        records[source] = made
    return [records[source] for source in sources.paths if source in records]


class _Kept:
    """The records that were used last, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: OrderedDict[tuple[str, str, int], Record] = OrderedDict()
        self._chars = 0

    def get(self, key: tuple[str, str, int]) -> Record | None:
        with self._lock:
            held = self._records.get(key)
            if held is not None:
                self._records.move_to_end(key)
            return held

    def put(self, key: tuple[str, str, int], record: Record) -> None:
        with self._lock:
            if key in self._records:
                return
            self._records[key] = record
            self._chars += _chars(record)
            while self._chars > _MAX_KEPT_CHARS and len(self._records) > 1:
                _, dropped = self._records.popitem(last=False)
                self._chars -= _chars(dropped)


def _chars(record: Record) -> int:
    return sum(len(chunk.content) for chunk in record.raw)


_kept = _Kept()


def document_cache() -> DocumentCache:
    """The cache on disk of the workspace that is set now."""
    return _cache_in(os.path.abspath(settings.DEFAULT_WORKSPACE))


@lru_cache(maxsize=4)
def _cache_in(workspace: str) -> DocumentCache:
    from qwen_agentkit.rag.cache import DocumentCache

    return DocumentCache(os.path.join(workspace, "documents"))


def files_named_by_model(named: Sequence[str], files: Sequence[str]) -> list[str]:
    """What a model's arguments may mean, checked.

    Args:
        named: Paths, file names or addresses as the model wrote them.
        files: The agent's files and those of the conversation.

    Returns:
        For each the file that is meant; for a folder or pattern what lies in it and may be read. A bare name stands
        for the one given file that is called so.

    Raises:
        ToolArgumentsError: A path that may not be read; one line.
    """
    meant: list[str] = []
    for name in named:
        if name in files or name.lower().startswith(("http://", "https://")):
            meant.append(name)
            continue
        same_name = [file for file in files if name_of(file) == os.path.basename(name)]
        if len(same_name) == 1 and os.path.basename(name) == name:
            meant.append(same_name[0])
            continue
        meant.extend(_allowed_in(name, files))
    return meant


def _allowed_in(name: str, files: Sequence[str]) -> list[str]:
    """The files behind a path that a model named. In a folder each is judged by itself: it may be a link."""
    from qwen_agentkit.rag.sources import find_sources

    conversation = conversation_mark()
    real = allowed_path(name, files, conversation=conversation)
    found = find_sources(str(real)).files
    if not found:
        return [str(real)]
    allowed = [file for file in found if may_be_read(Path(file), files, conversation=conversation, named=real)]
    if not allowed:
        raise ToolArgumentsError(f"{name!r} holds nothing that may be read.")
    return allowed


def one_document(url: str, kwargs: Mapping[str, object], named_by_model: bool, keep_images: bool = False) -> Document:
    """Reads the one document of a call of `doc_parser` or `simple_doc_parser`.

    Args:
        url: Path or address.
        kwargs: Of the call; `files` are the agent's.
        named_by_model: The path comes from a model and must be one that it may read.
        keep_images: Keeps the pictures.

    Raises:
        ToolArgumentsError: The path may not be read.
        DocParserError: It cannot be read; `message` says why.
    """
    if not isinstance(url, str) or not url.strip():
        raise ToolArgumentsError(f"'url' is a path or an address, not {url!r}")
    if named_by_model:
        files = kwargs.get("files")
        meant = files_named_by_model([url], list(files) if isinstance(files, (list, tuple)) else [])
        if len(meant) > 1:
            raise DocParserError(code="folder", message=f"{url} is a folder; name one document")
        url = meant[0]
    sources = find_sources([url])
    if len(sources.paths) > 1:
        raise DocParserError(code="folder", message=f"{url} is a folder; name one document")
    for _, document in read_sources(sources, keep_images):
        return document
    reason = sources.problems[0].reason if sources.problems else "nothing could be read"
    raise DocParserError(code="unreadable", message=f"{url}: {reason}")
