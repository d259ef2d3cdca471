"""ODS: sheets of an OpenDocument spreadsheet, streamed from its XML.

Read here and not through calamine: a cell may say that it stands for a million columns, and values are shown by the
file itself (`25 %`, error names), which a reader of values would lose.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING, NOTE
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.cells import column_name, duration_text, number_text
from qwen_agentkit.rag.parsers.ooxml import attribute, local
from qwen_agentkit.rag.parsers.opendocument import check_not_encrypted, document_title, paragraphs, repeated
from qwen_agentkit.rag.parsers.rows import RowWriter

_MAX_COLUMNS = 16_384
_MAX_ROWS = 1_048_576
_MAX_COPIES = 1000  # of a row with something in it
_DURATION = re.compile(r"(-?)P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?")


def add_sheets(package: GuardedZip, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads the sheets of an ODS package into the builder.

    Args:
        package: The open package.
        builder: Takes the blocks; each names its sheet and rows.
        options: Not used beyond the package's own limits.

    Raises:
        PasswordRequired: The workbook is encrypted.
        DamagedFile: Its content cannot be read.
        LimitExceededInFile: It has too many cells; what was read before is in the builder.
    """
    check_not_encrypted(package)
    builder.title = document_title(package)
    if "content.xml" not in package:
        raise DamagedFile(message="the workbook has no content (content.xml)")
    writer: RowWriter | None = None
    notes: list[tuple[str, int, str]] = []
    row_number, named = 0, False
    try:
        for name, element in _events(package):
            if name == "table":
                _finish(writer, notes, builder)
                writer, row_number, named = RowWriter(builder, element), 0, False
            elif writer is not None:
                cells = _cells(element, row_number, notes, writer)
                copies = repeated(element, "number-rows-repeated")
                if (cells or notes) and not named:
                    builder.add(HEADING, writer.sheet or "", level=1, sheet=writer.sheet)
                    named = True
                for _ in range(min(copies, _MAX_COPIES) if cells else 0):
                    writer.add(row_number, list(cells))
                    row_number += 1
                row_number = min(row_number + (max(0, copies - _MAX_COPIES) if cells else copies), _MAX_ROWS)
    finally:
        _finish(writer, notes, builder)


def _finish(writer: RowWriter | None, notes: list[tuple[str, int, str]], builder: DocumentBuilder) -> None:
    if writer is None:
        return
    writer.flush()
    for address, row, text in notes:
        builder.add(NOTE, f"Comment at {address}: {text}", sheet=writer.sheet, rows=(row, row))
    notes.clear()


def _events(package: GuardedZip) -> Iterator[tuple[str, Any]]:
    """`("table", name)` at the start of each sheet and `("row", element)` for each of its rows."""
    from lxml import etree

    with package.open("content.xml") as stream:
        events = etree.iterparse(
            stream,
            events=("start", "end"),
            tag=["{*}table", "{*}table-row"],
            recover=True,
            huge_tree=True,
            resolve_entities=False,
            no_network=True,
        )
        depth = 0
        try:
            for event, element in events:
                if local(element.tag) == "table":
                    depth += 1 if event == "start" else -1
                    if event == "start" and depth == 1:
                        yield "table", attribute(element, "name") or "Sheet"
                elif event == "end" and depth == 1:
                    yield "row", element
                    element.clear()
                    parent = element.getparent()
                    while parent is not None and (before := element.getprevious()) is not None:
                        parent.remove(before)
        except etree.XMLSyntaxError as error:
            raise DamagedFile(exception=error, message=f"the workbook's XML is broken ({error})") from error


def _cells(row: Any, row_number: int, notes: list[tuple[str, int, str]], writer: RowWriter) -> list[str]:
    """Texts of a row, blank cells at its end left out; its comments go to `notes`, its merged cells to the writer."""
    cells: list[str] = []
    for cell in row:
        name = local(cell.tag)
        if name not in ("table-cell", "covered-table-cell"):
            continue
        column = len(cells)
        copies = min(repeated(cell, "number-columns-repeated"), _MAX_COLUMNS - column)
        beside: list[Any] = []
        text = "" if name == "covered-table-cell" else _cell_text(cell, beside)
        for note in beside:
            if local(note.tag) == "annotation":
                words = " ".join("".join(one.itertext()).strip() for one in note if local(one.tag) == "p")
                if words.strip():
                    notes.append((f"{column_name(column)}{row_number + 1}", row_number + 1, words))
        if not text and cell.getnext() is None:
            break
        if text:
            columns, rows = repeated(cell, "number-columns-spanned"), repeated(cell, "number-rows-spanned")
            writer.merge(row_number, column, row_number + rows - 1, column + columns - 1)
        cells.extend([text] * copies)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _cell_text(cell: Any, beside: list[Any]) -> str:
    """A cell as text: numbers plain, dates ISO, everything else as the file shows it."""
    shown = "\n".join(paragraphs(cell, beside.append))
    kind = attribute(cell, "value-type")
    value = attribute(cell, "value")
    if kind == "float" and value is not None and not shown.startswith(("#", "Err:")):
        try:
            return value if value.isdigit() else number_text(float(value))
        except ValueError:
            return shown
    if kind == "date":
        given = (attribute(cell, "date-value") or shown).removesuffix("T00:00:00")
        return given.partition(".")[0].replace("T", " ")
    if kind == "time":
        match = _DURATION.fullmatch(attribute(cell, "time-value") or "")
        if match:
            sign, days, hours, minutes, seconds = match.groups()
            span = dt.timedelta(
                days=int(days or 0), hours=int(hours or 0), minutes=int(minutes or 0), seconds=int(seconds or 0)
            )
            return sign + duration_text(span)
    if kind == "boolean":
        return "TRUE" if attribute(cell, "boolean-value") == "true" else "FALSE"
    return shown
