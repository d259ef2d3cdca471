"""Which local files a model may name.

A path in a model's arguments must lie under the workspace, under a folder of `settings.ALLOWED_FOLDERS`, or be
(or lie under) one of the agent's own files. Links are resolved first, so a link cannot lead out.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.utils.work_dir import local_path


def allowed_path(path: str, files: Iterable[str] = (), *, folder: str | None = None) -> Path:
    """The real path of a file that a model named, if it may be read.

    Args:
        path: Absolute, relative to the current folder (or to `folder`), or a `file:` address; `~` is not expanded.
        files: The agent's files and those of the conversation: paths, folders, patterns. Addresses are skipped.
        folder: Where relative paths begin; it is allowed as well.

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
    if any(real == root or root in real.parents for root in allowed_roots(files, folder)):
        return real
    raise ToolArgumentsError(
        f"{path!r} may not be read: it is none of the files given to this agent, nor in its workspace."
    )


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
