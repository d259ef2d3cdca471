"""XLS (Excel 2 to 2003, BIFF) through xlrd, which is slower than calamine but cannot take the process with it.

Of 200 mutated workbooks calamine aborts the process on one in ten, a sparse sheet costs it a gigabyte, and it drops
error values. It is asked only where xlrd gives up on a workbook whose container is sound.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile, PasswordRequired
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING, NOTE
from qwen_agentkit.rag.parsers.cells import column_name, date_form, is_percent, number_text, percent_text, serial_text
from qwen_agentkit.rag.parsers.rows import RowWriter

# What xlrd raises in the depths of a broken file.
_FAULTS = (
    struct.error,
    AssertionError,
    AttributeError,
    ArithmeticError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_EMPTY, _TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR, _BLANK = range(7)  # xlrd's kinds of cells


class UnreadByXlrd(DamagedFile):
    """xlrd gave up on a workbook whose container is sound; another reader may try."""


def parse_xls(path: Path, builder: DocumentBuilder) -> None:
    """Reads an old workbook into the builder: for each sheet a heading, its tables, its comments.

    Args:
        path: The file.
        builder: Takes the blocks; each names its sheet and rows.

    Raises:
        PasswordRequired: The workbook is encrypted.
        UnreadByXlrd: Nothing has been written and calamine may try.
        DamagedFile: Its container is broken.
        LimitExceededInFile: It has too many cells; what was read before is in the builder.
    """
    book = _open(path, builder)
    for number in range(book.nsheets):
        name = book.sheet_names()[number]
        try:
            sheet = book.sheet_by_index(number)
        except _faults() as error:
            builder.warn(f"sheet {name!r} was not read: {error or type(error).__name__}")
            continue
        if sheet.nrows == 0:
            continue
        builder.add(HEADING, name, level=1, sheet=name)
        _add_rows(book, sheet, builder)
        for (row, column), note in sorted(sheet.cell_note_map.items()):
            text = " ".join(note.text.split())
            address = f"{column_name(column)}{row + 1}"
            builder.add(NOTE, f"Comment at {address}: {text}" if text else "", sheet=name, rows=(row + 1, row + 1))
        book.unload_sheet(number)
        builder.progress(number + 1, book.nsheets)


def _faults() -> tuple[type[Exception], ...]:
    import xlrd

    return (xlrd.XLRDError, xlrd.compdoc.CompDocError, xlrd.formula.FormulaError, *_FAULTS)


def _open(path: Path, builder: DocumentBuilder) -> Any:
    import xlrd

    def opened(**options: Any) -> Any:
        return xlrd.open_workbook(
            str(path), logfile=io.StringIO(), formatting_info=True, ragged_rows=True, on_demand=True, **options
        )

    try:
        return opened()
    except xlrd.compdoc.CompDocError:
        try:
            book = opened(ignore_workbook_corruption=True)
        except _faults() as error:
            raise DamagedFile(exception=error, message=f"the workbook's container is broken ({error})") from error
        builder.warn("the workbook's container is damaged; what could be found in it was read")
        return book
    except xlrd.XLRDError as error:
        if "encrypted" in str(error).lower():
            raise PasswordRequired(
                exception=error, message="the workbook is encrypted; save it without a password to have it read"
            ) from error
        raise UnreadByXlrd(exception=error, message=f"the workbook cannot be read ({error})") from error
    except _faults() as error:
        raise UnreadByXlrd(
            exception=error, message=f"the workbook cannot be read ({error or type(error).__name__})"
        ) from error


def _add_rows(book: Any, sheet: Any, builder: DocumentBuilder) -> None:
    import xlrd

    form_of = _forms(book)
    percents = _percents(book)
    errors: dict[int, str] = xlrd.error_text_from_code
    merged = [(top, left, bottom - 1, right - 1) for top, bottom, left, right in sheet.merged_cells]
    writer = RowWriter(builder, sheet.name, merged=merged)
    try:
        for number in range(sheet.nrows):
            kinds, values = sheet.row_types(number), sheet.row_values(number)
            cells = []
            for column, (kind, value) in enumerate(zip(kinds, values, strict=False)):
                if kind == _TEXT:
                    cells.append(value)
                elif kind == _NUMBER:
                    shown = percents and _format_of(sheet, number, column) in percents
                    cells.append(percent_text(value) if shown else number_text(value))
                elif kind == _DATE:
                    form = form_of(_format_of(sheet, number, column))
                    cells.append(serial_text(value, form, bool(book.datemode)))
                elif kind == _BOOLEAN:
                    cells.append("TRUE" if value else "FALSE")
                elif kind == _ERROR:
                    cells.append(errors.get(value, "#ERROR!"))
                else:
                    cells.append("")
            writer.add(number, cells)
    finally:
        writer.flush()


def _format_of(sheet: Any, row: int, column: int) -> int | None:
    """Number of the record that says how a cell looks; None for a cell without one."""
    try:
        return sheet.cell_xf_index(row, column)
    except (LookupError, TypeError):
        return None


def _shown(book: Any, index: int | None) -> str:
    """The number format of a record; '' when there is none."""
    try:
        return book.format_map[book.xf_list[index].format_key].format_str or ""
    except (LookupError, TypeError):
        return ""


def _percents(book: Any) -> frozenset[int]:
    return frozenset(index for index in range(len(book.xf_list)) if is_percent(_shown(book, index)))


def _forms(book: Any) -> Callable[[int | None], str]:
    """The date format of a cell by the number of its format record."""
    known: dict[int | None, str] = {}

    def form_of(index: int | None) -> str:
        if index not in known:
            known[index] = date_form(_shown(book, index)) or "yyyy"
        return known[index]

    return form_of
