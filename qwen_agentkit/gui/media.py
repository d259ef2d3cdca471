"""Files that come in with a message, and files that an answer gives out."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from qwen_agentkit import settings
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.utils.paths import may_be_read
from qwen_agentkit.utils.work_dir import local_path

_KINDS = ("image", "audio", "video")
_DATA = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,(?P<data>.*)", re.DOTALL)
# The most bytes of a picture that a model gives as text.
_MOST_DATA = 30_000_000
_FOLDER = "web"


class TooLarge(ValueError):
    """A file that was sent is larger than the page takes; the text is its name."""


def user_folder(user: str) -> Path:
    """Where a user's files are kept: in the workspace, under a name that says nothing of the user."""
    named = hashlib.sha256(user.encode()).hexdigest()[:32]
    return Path(os.path.abspath(settings.DEFAULT_WORKSPACE), _FOLDER, named)


def take_in(paths: Iterable[str], user: str, most_bytes: int) -> list[ContentItem]:
    """Copies files that were sent to where they stay, and makes content items of them.

    Args:
        paths: Where the page's server has put them.
        user: Who sent them.
        most_bytes: The most bytes of one file.

    Raises:
        TooLarge: One has more.
    """
    return [item_of(_kept(Path(path), user, most_bytes)) for path in paths]


def item_of(path: Path) -> ContentItem:
    """A file as a picture, a recording, a film, or else a document, by its name."""
    kind = (mimetypes.guess_type(path.name)[0] or "").partition("/")[0]
    return ContentItem(**{kind if kind in _KINDS else "file": str(path)})


def _kept(path: Path, user: str, most_bytes: int) -> Path:
    if path.stat().st_size > most_bytes:
        raise TooLarge(path.name)
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    # By content: what is sent twice is kept once, and two files of one name do not meet.
    target = user_folder(user) / content / path.name
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(path, beside)
        os.replace(beside, target)
    return target


def given_out(value: str, user: str, files: Sequence[str] = ()) -> Path | None:
    """The local file that an answer may show to a user, None where it may not or there is none.

    Args:
        value: A path, a `file:` address, or the data of a picture (`data:...;base64,...`), which is written to disk.
        user: Who is to see it.
        files: The agent's own files.
    """
    if value.startswith("data:"):
        return _written(value, user)
    if "://" in value and not value.lower().startswith("file:"):
        return None
    if "\x00" in value:
        return None
    real = Path(os.path.realpath(local_path(value)))
    if not real.is_file():
        return None
    return real if may_be_read(real, [*files, str(user_folder(user))], named=real) else None


def _written(value: str, user: str) -> Path | None:
    match = _DATA.fullmatch(value)
    if match is None or len(match["data"]) > _MOST_DATA:
        return None
    try:
        data = base64.b64decode(match["data"], validate=True)
    except ValueError:
        return None
    ending = mimetypes.guess_extension(match["type"] or "") or ".bin"
    target = user_folder(user) / "shown" / f"{hashlib.sha256(data).hexdigest()[:32]}{ending}"
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_bytes(data)
        os.replace(beside, target)
    return target
