"""Giving disk space back: what the workspace keeps only to be faster, and has not used for a time."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.index_files import CATALOG_FILE

# Folders that were on their way out when a cleaning was killed.
_LEAVING = ".leaving-"


@dataclass(frozen=True)
class Cleaned:
    """What was erased of one kind.

    Args:
        kind: `documents` (parsed copies), `web` (fetched pages) or `knowledge` (indexes over sets of files).
        count: How many; for documents the bytes alone are known.
        bytes: Their size.
    """

    kind: str
    count: int | None
    bytes: int


def clean_workspace(
    older_than: float, workspace: str | os.PathLike[str] | None = None, dry_run: bool = False
) -> list[Cleaned]:
    """Erases what can be made again and was not used for a time. What anyone has open stays.

    Conversations, facts, indexes of one's own and files that agents wrote are never touched.

    Args:
        older_than: Seconds; 0 is everything.
        workspace: None is `settings.DEFAULT_WORKSPACE`.
        dry_run: Counts only.

    Raises:
        ValueError: `older_than` is negative.
    """
    if older_than < 0:
        raise ValueError(f"older_than is 0 or more seconds, not {older_than!r}")
    root = Path(os.path.abspath(settings.DEFAULT_WORKSPACE if workspace is None else workspace))
    limit = time.time() - older_than
    return [
        _clean_documents(root / "documents", older_than, dry_run),
        _clean_folders("web", root / "documents" / "web", limit, dry_run),
        _clean_folders("knowledge", root / "knowledge", limit, dry_run),
    ]


def _clean_documents(folder: Path, older_than: float, dry_run: bool) -> Cleaned:
    if not (folder / "cache.sqlite").exists():
        return Cleaned("documents", None, 0)
    with DocumentCache(folder) as cache:
        freed = cache.unused_bytes(older_than) if dry_run else cache.clean(older_than)
    return Cleaned("documents", None, freed)


def _clean_folders(kind: str, parent: Path, limit: float, dry_run: bool) -> Cleaned:
    count = size = 0
    for folder in sorted(parent.iterdir()) if parent.is_dir() else []:
        if not folder.is_dir() or folder.is_symlink():
            continue
        sizes, last = _looked_at(folder)
        if last > limit or _is_open(folder / CATALOG_FILE):
            continue
        count += 1
        size += sizes
        if not dry_run:
            _erase(folder)
    return Cleaned(kind, count, size)


def _erase(folder: Path) -> None:
    # Renamed first: who comes meanwhile finds a whole folder or none.
    leaving = folder
    if not folder.name.startswith(_LEAVING):
        leaving = folder.with_name(f"{_LEAVING}{folder.name}")
        os.replace(folder, leaving)
    shutil.rmtree(leaving)


def _looked_at(folder: Path) -> tuple[int, float]:
    """Bytes of a folder, and when it was last used: SQLite makes files beside a catalog that it opens."""
    size, last = 0, folder.stat().st_mtime
    for file in _files(folder):
        try:
            facts = file.stat()
        except FileNotFoundError:
            continue  # gone since the folder was listed
        size += facts.st_size
        last = max(last, facts.st_mtime)
    return size, last


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _is_open(catalog: Path) -> bool:
    """Whether a process has an index open: SQLite gives no exclusive lock then (https://sqlite.org/wal.html#noshm)."""
    if not catalog.exists():
        return False
    before = catalog.parent.stat()
    connection = sqlite3.connect(str(catalog), timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False  # damaged, so of no use to anyone
    finally:
        connection.close()
        # Having looked is no use of it.
        os.utime(catalog.parent, ns=(before.st_atime_ns, before.st_mtime_ns))
    return False
