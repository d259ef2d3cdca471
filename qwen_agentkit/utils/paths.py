"""Which local files a model may name.

A path in a model's arguments must lie under the workspace, under a folder of `settings.ALLOWED_FOLDERS`, or be
(or lie under) one of the agent's own files. Links are resolved first, so a link cannot lead out. What the framework
itself keeps in the workspace for everybody (sessions, indexes, files that users sent, results of other conversations)
is not for models: `is_store`.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.utils.work_dir import local_path

# What the framework keeps in the workspace: folders there, folders in its `tools`, and files anywhere in it.
_STORES = frozenset({"documents", "index", "knowledge", "memory", "web"})
_TOOL_STORES = frozenset({"large_results", "storage"})
_STORE_FILE = re.compile(r"\.sqlite(-\w+)?(\.\w+)*$|^dialogue_history_.*\.txt$")
# A folder of one conversation or user among a tool's: `utils.session_ends`.
_MARK = re.compile(r"[0-9a-f]{24}")


def allowed_path(
    path: str, files: Iterable[str] = (), *, folder: str | None = None, conversation: str | None = None
) -> Path:
    """The real path of a file that a model named, if it may be read.

    Args:
        path: Absolute, relative to the current folder (or to `folder`), or a `file:` address; `~` is not expanded.
        files: The agent's files and those of the conversation: paths, folders, patterns. Addresses are skipped.
        folder: Where relative paths begin; it is allowed as well.
        conversation: The mark of the stored session that the run is in; see `is_store`.

    Returns:
        The path with all links resolved. The file may not exist.

    Raises:
        ToolArgumentsError: It lies elsewhere; the text is one line for the model.
    """
    if not isinstance(path, str) or not path.strip() or "\x00" in path:
        raise ToolArgumentsError(f"A path is wanted, not {path!r}")
    named = local_path(path.strip())
    if folder is not None and not os.path.isabs(named):
        named = os.path.join(folder, named)
    real = Path(os.path.realpath(named))
    if may_be_read(real, files, folder=folder, conversation=conversation, named=real):
        return real
    raise ToolArgumentsError(
        f"{path!r} may not be read: it is none of the files given to this agent, nor in its workspace."
    )


def may_be_read(
    real: Path,
    files: Iterable[str] = (),
    *,
    folder: str | None = None,
    conversation: str | None = None,
    named: Path | None = None,
) -> bool:
    """Whether a model may have a file read; arguments as for `allowed_path`.

    Args:
        real: The file, with all links resolved.
        files: The agent's files and those of the conversation.
        folder: A folder that is allowed as well.
        conversation: The mark of the stored session that the run is in.
        named: What the model named, when that is a folder or pattern that the file lies in.
    """
    kept = is_store(real, conversation, named)
    # A store in a folder that is allowed was hardly meant; a file or folder of a store that was itself given is.
    return any(
        _within(real, root) and (not kept or real == root or is_store(root)) for root in allowed_roots(files, folder)
    )


def is_store(real: Path, conversation: str | None = None, named: Path | None = None) -> bool:
    """Whether a path lies in what the framework keeps in its workspace for all users and conversations.

    Args:
        real: A path with all links resolved.
        conversation: The mark of the stored session that the run is in: its own folders are none of the stores, those
            of other conversations are.
        named: What the model named. Outside of stored sessions a conversation's folder goes by a name that nobody
            guesses: who names it may have it, but it is not found by way of the folders above it.
    """
    if _is_sessions_file(real):
        return True
    workspace = Path(os.path.realpath(settings.DEFAULT_WORKSPACE))
    if not _within(real, workspace):
        return False
    first, *rest = real.relative_to(workspace).parts or ("",)
    if first in _STORES or _STORE_FILE.search(real.name):
        return True
    if first != "tools":
        return False
    if rest and rest[0] in _TOOL_STORES:
        return True
    mark = rest[1] if len(rest) > 1 and _MARK.fullmatch(rest[1]) else None
    if mark is None or mark == conversation:
        return False
    return conversation is not None or named is None or mark not in named.parts


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _is_sessions_file(real: Path) -> bool:
    """Whether it is the file of SQLite that `settings.SESSIONS` names, or one that SQLite keeps beside it."""
    scheme, _, address = settings.SESSIONS.partition(":///")
    path = address.partition("?")[0]
    if not scheme.startswith("sqlite") or path in ("", ":memory:"):
        return False
    return re.sub(r"-(wal|shm|journal)$", "", str(real)) == os.path.realpath(path)


def allowed_roots(files: Iterable[str] = (), folder: str | None = None) -> list[Path]:
    """The real paths under which a model may name files; see `allowed_path`."""
    named = [settings.DEFAULT_WORKSPACE, *settings.ALLOWED_FOLDERS]
    if folder is not None:
        named.append(folder)
    for file in files:
        if "://" in file and not file.lower().startswith("file:"):
            continue
        local = local_path(file)
        if glob.has_magic(local) and not os.path.exists(local):
            named.extend(glob.glob(local, recursive=True))
        else:
            named.append(local)
    return [Path(os.path.realpath(name)) for name in named if name]
