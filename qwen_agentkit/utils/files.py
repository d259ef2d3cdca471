"""Small file operations that two processes may do at once."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from io import BufferedReader
from pathlib import Path

# What a name from outside may not hold on any common file system.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10))})
MAX_NAME_BYTES = 200


def write_atomically(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Writes a file so that a reader sees the old content or the new one, never a part.

    Folders that are missing are made. Text is written as UTF-8.

    Raises:
        OSError: The disk is full, the place is not writable, ...
    """
    target = Path(path)
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(raw)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Opens a file for reading in a folder that somebody else may write to: no link is followed, no pipe waited for.

    Raises:
        OSError: It is not there, or is a link or anything else that is no plain file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def safe_name(name: str, default: str = "file") -> str:
    """A file name made of a text from outside: no folders, no control characters, not `.` or `..`, not too long.

    The ending is kept when the name must be cut.
    """
    cleaned = _UNSAFE.sub("_", name).strip().strip(".").strip()
    if not cleaned:
        return default
    if cleaned.partition(".")[0].lower() in _RESERVED:
        cleaned = f"_{cleaned}"
    if len(cleaned.encode()) <= MAX_NAME_BYTES:
        return cleaned
    stem, dot, ending = cleaned.rpartition(".")
    if not dot or len(ending.encode()) > 20:
        stem, dot, ending = cleaned, "", ""
    room = MAX_NAME_BYTES - len((dot + ending).encode())
    return stem.encode()[:room].decode("utf-8", "ignore") + dot + ending
