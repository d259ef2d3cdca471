"""`read_file`: a text file of the work folder, page by page."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.work_folder import WorkFolderTool

DEFAULT_LINES = 500
# Characters of one page, and of one line in it.
MAX_PAGE_CHARS = 40_000
MAX_LINE_CHARS = 4_000
# Bytes of a file that is looked at.
MAX_FILE_BYTES = 200_000_000


@register_tool("read_file")
class ReadFile(WorkFolderTool):
    """Reads lines of a text file of the work folder."""

    fenced = True
    description = "Reads a text file in the work folder. Long files are read page by page, by line."
    parameters = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the work folder."},
            "offset": {"type": "integer", "description": "Lines to skip.", "default": 0, "minimum": 0},
            "limit": {"type": "integer", "description": "Lines to read.", "default": DEFAULT_LINES, "minimum": 1},
        },
        "required": ["path"],
    }

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The lines, and where the next page begins if there is one.

        Raises:
            ToolArgumentsError: There is no such file, or it is no text; one line.
        """
        arguments = self._verify_json_format_args(params)
        path = self.place(arguments["path"])
        if not path.is_file():
            raise ToolArgumentsError(f"read_file: there is no file {arguments['path']!r}")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ToolArgumentsError(f"read_file: {arguments['path']!r} has more than {MAX_FILE_BYTES} bytes")
        offset = arguments.get("offset", 0)
        last = offset + arguments.get("limit", DEFAULT_LINES)
        page: list[str] = []
        chars = 0
        number = 0
        with path.open("rb") as stream:
            if b"\x00" in stream.read(4096):
                raise ToolArgumentsError(f"read_file: {arguments['path']!r} is no text file")
            stream.seek(0)
            for number, raw in enumerate(stream, 1):
                if number <= offset:
                    continue
                line = _line(raw)
                if number > last or (page and chars + len(line) > MAX_PAGE_CHARS):
                    page.append(f"[lines {offset + 1} to {number - 1}; the next page has offset={number - 1}]")
                    return "\n".join(page)
                page.append(line)
                chars += len(line)
        if not page:
            return f"[the file has {number} lines]" if offset else "[the file is empty]"
        return "\n".join(page)


def _line(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    if len(text) <= MAX_LINE_CHARS:
        return text
    return f"{text[:MAX_LINE_CHARS]} [{len(text) - MAX_LINE_CHARS} more characters of this line]"
