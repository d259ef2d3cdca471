"""`storage`: keeps text under keys, one file a key, in a folder of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qwen_agentkit import settings
from qwen_agentkit.errors import KeyNotExistsError, ToolArgumentsError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.code.conversation import folder_of_user
from qwen_agentkit.utils.files import MAX_NAME_BYTES, write_atomically
from qwen_agentkit.utils.paths import is_store

__all__ = ["KeyNotExistsError", "Storage"]

# Characters of one value; a model that loops must not fill the disk.
MAX_VALUE_CHARS = 10_000_000
# What ends the name of a value's file. A key is thus a folder and a value at once (`a` and `a/b`).
_SUFFIX = ".value"
# What is percent-encoded in a file's name: signs that file systems mind, a dot in front, a space or dot at the end,
# and the endings that mean something here.
_ENCODED = re.compile(r'[\x00-\x1f\x7f%<>:"\\|?*\ud800-\udfff]|^\.|[ .]$|\.(?=(?:value|tmp)$)')


@register_tool("storage")
class Storage(BaseTool):
    """Keeps text under keys such as `/notes/today`.

    Args:
        cfg: `storage_root_path` is the folder; the default is `tools/storage` in the workspace, and in stored sessions
            of users with names one for each user. Nothing outside of it is ever read or written.
    """

    description = "Keeps values under keys, in a store that outlasts the conversation: put, get, delete, scan."
    parameters = {
        "type": "object",
        "properties": {
            "operate": {
                "type": "string",
                "enum": ["put", "get", "delete", "scan"],
                "description": "put writes a value, get reads one, delete removes one, "
                "scan lists all values under a key.",
            },
            "key": {
                "type": "string",
                "description": "Where the value is kept, parts joined by '/', such as '/notes/today'. "
                "For scan, '/' is everything.",
                "default": "/",
            },
            "value": {"type": "string", "description": "The text to keep; for put."},
        },
        "required": ["operate"],
    }
    side_effects = True

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        default = os.path.join(settings.DEFAULT_WORKSPACE, "tools", "storage")
        self.root: str = os.fspath(self.cfg.get("storage_root_path", default))

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """Runs one operation and returns text.

        Raises:
            ToolArgumentsError: The arguments do not fit.
            KeyNotExistsError: `get` of a key that holds nothing.
        """
        arguments = self._verify_json_format_args(params)
        key = arguments.get("key", "/")
        operate = arguments["operate"]
        if operate == "put":
            if "value" not in arguments:
                raise ToolArgumentsError("storage: put wants a 'value'")
            return self.put(key, arguments["value"])
        if operate == "get":
            return self.get(key)
        if operate == "delete":
            return self.delete(key)
        return self.scan(key)

    def put(self, key: str, value: str, path: str | None = None) -> str:
        """Writes a value; what was under the key before is replaced at once and whole.

        Args:
            key: Parts joined by '/'.
            value: Text.
            path: A folder in place of the tool's own.

        Raises:
            ToolArgumentsError: The key is no key, or the value is too long.
        """
        if not isinstance(value, str):
            raise ToolArgumentsError(f"storage: a value is text, not {type(value).__name__}")
        if len(value) > MAX_VALUE_CHARS:
            raise ToolArgumentsError(f"storage: a value has at most {MAX_VALUE_CHARS} characters, not {len(value)}")
        write_atomically(self._place(key, path, needs_name=True)[0], value)
        return f"Successfully saved {key}."

    def get(self, key: str, path: str | None = None) -> str:
        """The value under a key.

        Raises:
            KeyNotExistsError: There is none.
        """
        for place in self._place(key, path, needs_name=True):
            text = _read(place)
            if text is not None:
                return text
        raise KeyNotExistsError(f"Get Failed: {key} does not exist")

    def delete(self, key: str, path: str | None = None) -> str:
        """Removes the value under a key, not the keys below it; says so when there is none."""
        for place in self._place(key, path, needs_name=True):
            try:
                place.unlink()
            except (FileNotFoundError, IsADirectoryError, PermissionError, NotADirectoryError):
                if place.is_file():
                    raise
                continue
            return f"Successfully deleted {key}"
        return f"Delete Failed: {key} does not exist"

    def scan(self, key: str, path: str | None = None) -> str:
        """Every value below a key, one `/rest/of/key: value` a line, in the order of their keys."""
        value_place, folder = self._place(key, path)
        if not folder.is_dir():
            if value_place.is_file() or folder.is_file():
                return f"Scan Failed: {key} holds one value; get it, or scan the key above."
            return f"Scan Failed: {key} does not exist."
        found: dict[str, str] = {}
        own = is_store(self._root(path))
        for below, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if own or not is_store(Path(below, name)))
            for file in files:
                place = Path(below, file)
                if not own and is_store(place):
                    continue
                # A file of the old layout, without the suffix, gives way to the new one.
                if file.endswith(".tmp") or (not file.endswith(_SUFFIX) and place.with_name(file + _SUFFIX).exists()):
                    continue
                text = _read(place)
                if text is not None:
                    found[_key_of(place.relative_to(folder))] = text
        return "\n".join(f"{name}: {found[name]}" for name in sorted(found))

    def _root(self, path: str | None) -> Path:
        """The folder of this call, links resolved."""
        own = self.root if "storage_root_path" in self.cfg else folder_of_user(self.root)
        return Path(os.path.realpath(path or own))

    def _place(self, key: str, path: str | None, needs_name: bool = False) -> tuple[Path, Path]:
        """The file of a key's value, and the folder of the keys below it (in Qwen-Agent's layout, its file)."""
        parts = _parts(key)
        if needs_name and not parts:
            raise ToolArgumentsError("storage wants a key with a name, such as '/notes/today'")
        root = self._root(path)
        folder = root.joinpath(*parts)
        # A symbolic link inside the folder could still lead out of it.
        if Path(os.path.realpath(folder.parent)) != folder.parent or folder.is_symlink():
            raise ToolArgumentsError(f"storage: {key!r} leads outside of the store")
        if is_store(folder) and not is_store(root):
            raise ToolArgumentsError(f"storage: {key!r} is kept by the program and not for tools")
        return folder.with_name(folder.name + _SUFFIX), folder


def _parts(key: str) -> list[str]:
    """The names of a key as file names: `/a/b` -> `a`, `b`. Characters that file systems mind are percent-encoded."""
    if not isinstance(key, str):
        raise ToolArgumentsError(f"storage: a key is text, not {type(key).__name__}")
    parts = [part for part in key.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise ToolArgumentsError(f"storage: a key has no '.' or '..' parts: {key!r}")
    encoded = [_ENCODED.sub(_percent_encoded, part) for part in parts]
    if any(len(part.encode()) > MAX_NAME_BYTES for part in encoded):
        raise ToolArgumentsError(f"storage: each part of a key has at most {MAX_NAME_BYTES} bytes: {key[:80]!r}…")
    return encoded


def _percent_encoded(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _key_of(relative: Path) -> str:
    return "/" + "/".join(unquote(part) for part in [*relative.parts[:-1], relative.name.removesuffix(_SUFFIX)])


def _read(place: Path) -> str | None:
    """The text of a value's file; None when there is none (it may have been deleted a moment ago)."""
    try:
        return place.read_bytes().decode("utf-8", "surrogatepass")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
