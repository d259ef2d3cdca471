"""Brings files into a folder without ever harming a file that is the user's."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

from qwen_agentkit.log import logger
from qwen_agentkit.utils.files import open_regular, safe_name, write_atomically

# Kept in the folder: name of a copy -> [where it came from, SHA-256 of what was copied].
RECORD = ".qwen_agentkit_copies.json"
_MAX_RECORD_BYTES = 10_000_000


def bring_into(folder: Path, source: str, name: str = "") -> Path:
    """Copies a file, or what an address holds, into a folder.

    A file that lies in the folder already stays where it is. A copy that was made here before and not changed
    since is brought up to date. Any other file of the same name is left alone, and the copy gets a name of its
    own (`data-1a2b3c4d.csv`).

    Args:
        folder: An existing folder.
        source: Path, `file:` address, or http(s) address (fetched by the guarded client).
        name: Name of the copy; the default is the source's own.

    Returns:
        Where the file is in the folder.

    Raises:
        OSError: The source cannot be read or the folder not written.
        ValueError, ToolServiceError: The address cannot be fetched.
    """
    if source.lower().startswith(("http://", "https://")):
        from qwen_agentkit.utils.web import fetch

        response = fetch(source)
        response.raise_for_status()
        return _place(folder, name or name_of(source), source, response.body)
    path = Path(local_path(source))
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    target = folder / safe_name(name or path.name)
    if os.path.realpath(path) == os.path.realpath(target) or (not name and _is_inside(path, folder)):
        return path
    return _place(folder, target.name, str(path.resolve()), path)


def name_of(path_or_url: str) -> str:
    """The file name in a path or address, without query: `https://host/a/b%20c.pdf?x=1` -> `b c.pdf`.

    An address with no path gives its host. What was encoded is decoded after the last slash is found, so an
    encoded slash cannot add a folder to it.
    """
    if len(path_or_url) > 2 and path_or_url[1:3] == ":\\":
        path_or_url = path_or_url.replace("\\", "/")
    name = unquote(os.path.basename(urlparse(path_or_url).path)).strip()
    if name:
        return name
    return next((part.strip() for part in reversed(path_or_url.split("/")) if part.strip()), "")


def local_path(path_or_url: str) -> str:
    """The path that a path or a `file:` address (as browsers copy them) names."""
    if os.path.exists(path_or_url) or not path_or_url.lower().startswith("file:"):
        return path_or_url
    path = unquote(urlparse(path_or_url).path)
    # `file:///C:/a` on Windows.
    if len(path) > 2 and path[0] == "/" and path[2] == ":" and os.name == "nt":
        path = path[1:]
    return path


def _place(folder: Path, name: str, origin: str, content: bytes | Path) -> Path:
    """Puts content into the folder under `name`, or beside what is there and not ours."""
    target = folder / safe_name(name)
    record = _read_record(folder)
    digest = _digest(content)
    there = _digest_there(target)
    if there is not None and there != digest and record.get(target.name) != [origin, there]:
        mark = hashlib.sha256(f"{origin}\n{digest}".encode()).hexdigest()[:8]
        target = target.with_name(f"{target.stem}-{mark}{target.suffix}")
    if _digest_there(target) != digest:
        if isinstance(content, bytes):
            write_atomically(target, content)
        else:
            _copy_atomically(content, target)
        record = _read_record(folder)
        record[target.name] = [origin, digest]
        write_atomically(folder / RECORD, json.dumps(record, ensure_ascii=False))
    return target


def _copy_atomically(source: Path, target: Path) -> None:
    # The folder may be one that a model's code writes to: a name that it could guess, it could make a link of.
    partial = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(source, "rb") as original, open(partial, "xb") as copy:
            shutil.copyfileobj(original, copy, 1 << 20)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _digest(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with open(content, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest_there(target: Path) -> str | None:
    """The digest of what is in the folder under a name, None for nothing; a link or a pipe is like no other content."""
    if not os.path.lexists(target):
        return None
    try:
        with open_regular(target) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "no plain file"


def _read_record(folder: Path) -> dict[str, list[str]]:
    try:
        with open_regular(folder / RECORD) as stream:
            held = json.loads(stream.read(_MAX_RECORD_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        # Without the record every copy gets a name of its own, which harms nothing.
        logger.warning("The record of copies in %s cannot be read: %s", folder, error)
        return {}
    if not isinstance(held, dict):
        return {}
    return {name: pair for name, pair in held.items() if isinstance(pair, list) and len(pair) == 2}


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
