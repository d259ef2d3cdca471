"""What the caller names (files, folders, patterns, addresses) as a list of documents to index."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.rag.reading import PARSERS
from qwen_agentkit.rag.sniff import CODE_ENDINGS
from qwen_agentkit.utils.work_dir import local_path

# Endings that are looked at when a folder is walked. A file that is named itself is read whatever its name.
_ALSO = ".htm .xhtml .markdown .xlsm .xlsb .text .log .rst .eml .ipynb .docm .pptm .jsonl .ndjson"
FOLDER_ENDINGS = frozenset({f".{kind}" for kind in PARSERS} | CODE_ENDINGS | set(_ALSO.split()))
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", ".git", ".hg", ".svn", ".venv", "venv"})
# Legacy formats are named as problems, so that nobody thinks they were read.
_NAMED_ALTHOUGH_UNREADABLE = frozenset({".doc", ".ppt", ".msg"})


@dataclass
class Wanted:
    """What is to be indexed.

    Args:
        files: Absolute, resolved paths of files, each once, in the order found.
        urls: Addresses.
        folders: Folders that were named: what the index holds from them and is not in `files` has gone.
        missing: Paths that were named and do not exist, absolute.
        patterns: Patterns that were named, absolute: what the index holds that fits one and is not on disk has gone.
    """

    files: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)


def is_url(name: str) -> bool:
    """Whether a source is fetched from the web."""
    return name.lower().startswith(("http://", "https://"))


def source_names(named: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The names of sources, given one or several, as text.

    Raises:
        ValueError: One is no path and no address. An empty one would mean the current folder.
    """
    if isinstance(named, (str, os.PathLike)):
        names = [named]
    elif isinstance(named, Iterable) and not isinstance(named, bytes):
        names = list(named)
    else:
        raise ValueError(f"Paths and addresses are wanted, one or several, not {named!r}")
    texts = []
    for name in names:
        text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else name
        if not isinstance(text, str) or not text.strip() or "\x00" in text:
            raise ValueError(f"A path or address is wanted, not {name!r}")
        texts.append(text)
    return texts


def find_sources(named: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Wanted:
    """Finds the documents behind names.

    Args:
        named: Paths, folders (walked, hidden files and foreign kinds left out), patterns with ``*`` (a folder that fits
            one is walked), and http(s) addresses; one or several.

    Raises:
        ValueError: A name is empty or no text, or it is no name at all.
    """
    wanted = Wanted()
    seen: set[str] = set()
    for text in source_names(named):
        if is_url(text):
            if text not in seen:
                seen.add(text)
                wanted.urls.append(text)
            continue
        for file in _files_of(os.path.expanduser(local_path(text)), wanted):
            if file not in seen:
                seen.add(file)
                wanted.files.append(file)
    return wanted


def _files_of(path: str, wanted: Wanted) -> Iterator[str]:
    real = os.path.realpath(path)
    if os.path.isdir(real):
        wanted.folders.append(real)
        yield from _walk(real)
    elif os.path.exists(real):
        yield real
    elif glob.has_magic(path):
        pattern = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))
        matches = sorted(glob.glob(path, recursive=True))
        (wanted.patterns if matches else wanted.missing).append(pattern)
        for match in map(os.path.realpath, matches):
            if not os.path.isdir(match):
                yield match
            elif "**" not in path:  # which finds what lies in folders by itself
                wanted.folders.append(match)
                yield from _walk(match)
    else:
        wanted.missing.append(real)


def _walk(folder: str) -> Iterator[str]:
    # What the framework itself has written is no document of the user's.
    workspace = os.path.realpath(settings.DEFAULT_WORKSPACE)
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED_FOLDERS
            and not _is_index(os.path.join(parent, name))
            and os.path.realpath(os.path.join(parent, name)) != workspace
        )
        for name in sorted(files):
            # "~$" begins the lock files of office programs.
            if name.startswith((".", "~$")):
                continue
            ending = Path(name).suffix.lower()
            path = os.path.join(parent, name)
            # An empty file among others (`__init__.py`) is nothing to complain about.
            if (ending in FOLDER_ENDINGS or ending in _NAMED_ALTHOUGH_UNREADABLE) and not _is_empty(path):
                yield os.path.realpath(path)


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:
        return False  # reading it says what is wrong


def _is_index(folder: str) -> bool:
    """An index that lies within a folder is no document of it."""
    return os.path.exists(os.path.join(folder, "catalog.sqlite")) or os.path.exists(
        os.path.join(folder, "cache.sqlite")
    )


def lies_in(source: str, folder: str) -> bool:
    """Whether a path is a folder's or below it."""
    return source == folder or source.startswith(folder.rstrip(os.sep) + os.sep)
