"""Jupyter notebooks (nbformat 3 and 4): text as Markdown, code and its results cell by cell."""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CODE, TEXT
from qwen_agentkit.rag.encoding import decode
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.markdown import add_markdown
from qwen_agentkit.rag.parsers.media import keep_image

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a notebook into the builder.

    Args:
        path: The file.
        builder: Takes the blocks. Code is headed by a comment with the number of its cell, results by a line.
        options: `keep_images` keeps the pictures among the results.

    Raises:
        DamagedFile: It is no notebook.
        LimitExceededInFile: Too much text; what was read before is in the builder.
    """
    try:
        notebook = json.loads(decode(path.read_bytes()).text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DamagedFile(exception=error, message=f"the notebook is not valid JSON ({error})") from error
    cells = _cells(notebook)
    if cells is None:
        raise DamagedFile(message="the file is JSON but no notebook: it has no list of cells")
    title = notebook.get("metadata", {}).get("title") if isinstance(notebook.get("metadata"), dict) else None
    builder.title = title if isinstance(title, str) else None
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            builder.warn(f"cell {number} is not an object and was not read")
            continue
        source = _joined(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        if kind in ("markdown", "heading"):
            level = cell.get("level") if kind == "heading" else None
            add_markdown("#" * level + " " + source if isinstance(level, int) else source, builder)
        elif kind == "code":
            builder.add(CODE, f"# Cell {number}\n{source.strip(chr(10)).rstrip()}" if source.strip() else "")
            for output in cell.get("outputs") or []:
                if isinstance(output, dict):
                    _add_output(output, number, builder, options)
        else:
            builder.add(TEXT, source.strip("\n").rstrip())
        builder.progress(number, len(cells))


def _cells(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    if isinstance(notebook.get("cells"), list):
        return notebook["cells"]
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []]


def _add_output(output: dict[str, Any], number: int, builder: DocumentBuilder, options: ReadOptions) -> None:
    kind = output.get("output_type")
    given = output.get("data")
    data: dict[str, Any] = given if isinstance(given, dict) else output
    if kind == "stream":
        text = _joined(output.get("text"))
    elif kind in ("error", "pyerr"):
        text = _joined(output.get("traceback"), "\n") or f"{output.get('ename')}: {output.get('evalue')}"
    else:
        text = _joined(data.get("text/markdown") or data.get("text/plain") or data.get("text"))
        for name in ("image/png", "image/jpeg", "png", "jpeg"):
            picture = _joined(data.get(name))
            if picture and options.keep_images:
                try:
                    keep_image(builder, base64.b64decode(picture), name=f"cell {number}")
                except (binascii.Error, ValueError):
                    builder.warn(f"a picture in cell {number} could not be read")
    text = _ANSI.sub("", text).strip("\n").rstrip()
    if text.strip():
        builder.add(CODE, f"Output of cell {number}:\n{text}")


def _joined(value: Any, joint: str = "") -> str:
    if isinstance(value, list):
        return joint.join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
