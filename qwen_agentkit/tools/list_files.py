"""`list_files`: what is in the work folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.work_folder import WorkFolderTool

MAX_ENTRIES = 500


@register_tool("list_files")
class ListFiles(WorkFolderTool):
    """Lists files of the work folder."""

    description = "Lists the files and folders in the work folder, with their sizes in bytes."
    parameters = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A folder in the work folder.", "default": "."},
            "recursive": {"type": "boolean", "description": "Also what is in its folders.", "default": False},
        },
    }

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """One entry a line, folders with a slash; at most 500, and then how many more there are.

        Raises:
            ToolArgumentsError: There is no such folder in the work folder.
        """
        arguments = self._verify_json_format_args(params)
        folder = self.place(arguments.get("path", "."))
        if not folder.is_dir():
            if folder == self.place("."):
                return "(empty)"
            raise ToolArgumentsError(f"list_files: there is no folder {arguments['path']!r}")
        lines: list[str] = []
        left_out = 0
        for root, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not self.is_hidden(Path(root, name), folder))
            files = [name for name in files if not self.is_hidden(Path(root, name), folder)]
            entries = [(name, True) for name in folders] + [(name, False) for name in sorted(files)]
            for name, is_folder in sorted(entries):
                if len(lines) == MAX_ENTRIES:
                    left_out += 1
                    continue
                place = os.path.join(root, name)
                shown = os.path.relpath(place, folder).replace(os.sep, "/")
                lines.append(f"{shown}/" if is_folder else f"{shown}  {_size(place)}")
            if not arguments.get("recursive", False) or left_out > MAX_ENTRIES * 20:
                break
        if left_out:
            lines.append(f"[{left_out} more are not shown; list a folder further down]")
        return "\n".join(lines) or "(empty)"


def _size(path: str) -> str:
    try:
        return f"{os.lstat(path).st_size}"
    except OSError:
        return "?"  # it was removed a moment ago
