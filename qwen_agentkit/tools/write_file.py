"""`write_file`: writes a text file in the work folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.work_folder import WorkFolderTool
from qwen_agentkit.utils.files import write_atomically

# Bytes of one file, and of all files in the folder.
MAX_FILE_BYTES = 10_000_000
MAX_FOLDER_BYTES = 500_000_000


@register_tool("write_file")
class WriteFile(WorkFolderTool):
    """Writes a text file of the work folder, whole or not at all.

    Args:
        cfg: `work_dir`; `max_folder_bytes`, 500 MB for all files of the folder.
    """

    untrusted = False
    description = "Writes a text file in the work folder. A file that is there is replaced only if you say so."
    parameters = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the work folder."},
            "content": {"type": "string", "description": "The text."},
            "mode": {
                "type": "string",
                "enum": ["create", "overwrite", "append"],
                "description": "create fails when there is such a file, overwrite replaces it, append adds to it.",
                "default": "create",
            },
        },
        "required": ["path", "content"],
    }
    side_effects = True
    # Two calls of one reply may write the same file: they do it in the order in which they were made.
    sequential = True

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """Says what was written.

        Raises:
            ToolArgumentsError: The path lies outside, the file is there already, or it would be too large; one line.
        """
        arguments = self._verify_json_format_args(params)
        path = self.place(arguments["path"])
        mode = arguments.get("mode", "create")
        if path.is_dir():
            raise ToolArgumentsError(f"write_file: {arguments['path']!r} is a folder")
        exists = path.exists()
        if exists and mode == "create":
            raise ToolArgumentsError(f"write_file: {arguments['path']!r} exists; use mode overwrite or append")
        content = arguments["content"].encode("utf-8", "replace")
        # Judged before anything is read: the file to append to may be of any size.
        kept = path.stat().st_size if exists and mode == "append" else 0
        size = kept + len(content)
        if size > MAX_FILE_BYTES:
            raise ToolArgumentsError(f"write_file: a file has at most {MAX_FILE_BYTES} bytes")
        allowed = self.cfg.get("max_folder_bytes", MAX_FOLDER_BYTES)
        if _folder_bytes(self.folder) + size > allowed:
            raise ToolArgumentsError(f"write_file: the work folder is full, it holds at most {allowed} bytes")
        if kept:
            content = path.read_bytes() + content
        write_atomically(path, content)
        return f"Wrote {self.shown(path)}, {len(content)} bytes."


def _folder_bytes(folder: Path) -> int:
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue  # it was removed a moment ago
    return total
