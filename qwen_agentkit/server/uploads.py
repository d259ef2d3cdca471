"""Files that users upload to their sessions.

They lie beside the workspace, not in it: a model may name any path of the workspace to its tools, and must not reach
the files of another user that way. A message names a file by its id, and only in the session that holds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.server.failures import RequestFailed, not_found
from qwen_agentkit.server.options import ServerOptions
from qwen_agentkit.utils.files import safe_name, write_atomically

_ID = re.compile(r"file_[0-9a-f]{24}\Z")
# No name from outside begins with a dot.
_RECORD = ".upload.json"


@dataclass(frozen=True)
class Upload:
    """A file of a session.

    Args:
        id: What a message names it by.
        filename: Its name.
        bytes: Its size.
        created_at: Seconds since 1970.
    """

    id: str
    filename: str
    bytes: int
    created_at: float

    def to_dict(self) -> dict[str, Any]:
        return {"object": "file", **asdict(self)}


class Uploads:
    """Keeps uploaded files.

    Args:
        options: Folder, sizes and types.
    """

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._root = Path(options.upload_folder or f"{os.path.abspath(settings.DEFAULT_WORKSPACE)}-uploads")

    async def add(self, user_id: str, session_id: str, name: str, pieces: AsyncIterator[bytes], now: float) -> Upload:
        """Keeps a file; what comes in is written as it comes.

        Raises:
            RequestFailed: 415 for a type that is not taken, 413 for a file that is too large.
        """
        name = safe_name(os.path.basename(name.replace("\\", "/")) or "file")
        ending = os.path.splitext(name)[1].lstrip(".").lower()
        if ending not in self._options.upload_types:
            raise RequestFailed(
                415,
                f"Files of the type {ending or '(none)'!r} are not taken; taken are: "
                + ", ".join(sorted(self._options.upload_types)),
                "unsupported_file_type",
                "file",
            )
        room = self._options.max_session_upload_bytes - sum(one.bytes for one in self.of_session(user_id, session_id))
        most = min(self._options.max_upload_bytes, room)
        upload_id = f"file_{secrets.token_hex(12)}"
        folder = self._folder(user_id, session_id) / upload_id
        folder.mkdir(parents=True, mode=0o700)
        size = 0
        try:
            with open(folder / name, "xb") as file:
                async for piece in pieces:
                    size += len(piece)
                    if size > most:
                        raise RequestFailed(
                            413,
                            f"A file has at most {self._options.max_upload_bytes} bytes, and all files of a session "
                            f"{self._options.max_session_upload_bytes}",
                            "file_too_large",
                            "file",
                        )
                    file.write(piece)
            upload = Upload(upload_id, name, size, now)
            write_atomically(folder / _RECORD, json.dumps(asdict(upload), ensure_ascii=False))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return upload

    def of_session(self, user_id: str, session_id: str) -> list[Upload]:
        """The files of a session, the oldest first."""
        found = []
        for record in self._folder(user_id, session_id).glob(f"file_*/{_RECORD}"):
            try:
                found.append(Upload(**json.loads(record.read_text("utf-8"))))
            except FileNotFoundError:
                pass  # deleted in this moment
        return sorted(found, key=lambda upload: (upload.created_at, upload.id))

    def path(self, user_id: str, session_id: str, upload_id: str) -> str | None:
        """Where a file of a session is; None when the session has none of that id."""
        if not _ID.match(upload_id):
            return None
        folder = self._folder(user_id, session_id) / upload_id
        try:
            name = json.loads((folder / _RECORD).read_text("utf-8"))["filename"]
        except FileNotFoundError:
            return None
        return str(folder / name)

    def delete(self, user_id: str, session_id: str, upload_id: str) -> None:
        """Erases a file.

        Raises:
            RequestFailed: 404.
        """
        path = self.path(user_id, session_id, upload_id)
        if path is None:
            raise not_found("file", upload_id, "file_id")
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)

    def delete_session(self, user_id: str, session_id: str) -> None:
        """Erases all files of a session."""
        shutil.rmtree(self._folder(user_id, session_id), ignore_errors=True)

    def delete_user(self, user_id: str) -> None:
        """Erases all files of a user."""
        shutil.rmtree(self._root / _hashed(user_id), ignore_errors=True)

    def _folder(self, user_id: str, session_id: str) -> Path:
        # Names of users and sessions may hold anything; digests are names of folders everywhere.
        return self._root / _hashed(user_id) / _hashed(session_id)


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:32]
