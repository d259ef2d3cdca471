"""Spreadsheets: XLSX, XLSM and XLSB through calamine, behind a look at how large each sheet is; XLS and ODS.

calamine reads eleven times as fast as openpyxl, but it lays out the whole rectangle of a sheet, aborts the process
when that is too large, and drops error values. So each XLSX sheet is scanned first: sparse ones and those from which
calamine returns fewer values than the file has are streamed from their XML; error values are put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile, PasswordRequired, UnsupportedFileType
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.cells import value_text
from qwen_agentkit.rag.parsers.ooxml import OLE_MAGIC, core_title, is_encrypted_package, open_package, relationships
from qwen_agentkit.rag.parsers.rows import RowWriter
from qwen_agentkit.rag.parsers.xls import UnreadByXlrd, parse_xls
from qwen_agentkit.rag.parsers.xlsb import check_xlsb
from qwen_agentkit.rag.parsers.xlsx_stream import MOST_CHANGED, Extent, SheetPart, StreamedBook, add_comments, scan


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a spreadsheet into the builder: for each sheet a heading, its tables, its comments.

    Args:
        path: The file (XLSX, XLSM, XLSB, XLS or ODS).
        builder: Takes the blocks; each names its sheet and rows.
        options: `limits` bound cells and what comes out of the package.

    Raises:
        PasswordRequired: The workbook is encrypted.
        DamagedFile: It is no workbook.
        LimitExceededInFile: It expands too much or has too many cells; what was read before is in the builder.
    """
    with open(path, "rb") as stream:
        head = stream.read(8)
        if head == OLE_MAGIC and is_encrypted_package(stream.read()):
            raise PasswordRequired(message="the workbook is encrypted; save it without a password to have it read")
        if not head.startswith(b"PK"):
            try:
                parse_xls(path, builder)
            except UnreadByXlrd:
                _parse_with_calamine_only(path, builder)
            return
    with open_package(path, options.limits) as package:
        if package.find("content.xml") is not None and package.find("xl/workbook.xml") is None:
            from qwen_agentkit.rag.parsers.ods import add_sheets

            add_sheets(package, builder, options)
        elif package.find("xl/workbook.bin") is not None:
            check_xlsb(package)
            _parse_with_calamine_only(path, builder)
        else:
            _parse_xlsx(path, package, builder)


def _parse_xlsx(path: Path, package: GuardedZip, builder: DocumentBuilder) -> None:
    book = StreamedBook(package)
    builder.title = core_title(package)
    if not book.sheets:
        raise DamagedFile(message="the workbook names no sheets")
    fast = _Calamine(path, package)
    for number, sheet in enumerate(book.sheets, 1):
        if sheet.kind in ("chartsheet", "dialogsheet"):
            continue
        if sheet.part is None:
            builder.warn(f"sheet {sheet.name!r} is missing from the file")
            continue
        try:
            extent = scan(package, sheet.part, book.percent_styles)
            if extent.values or relationships(package, sheet.part):
                builder.add(HEADING, sheet.name, level=1, sheet=sheet.name)
            if extent.is_sparse or not fast.add(sheet, extent, builder):
                _stream(book, sheet, builder)
            add_comments(package, sheet, builder)
        except DamagedFile as error:
            builder.warn(f"sheet {sheet.name!r} was not read to its end: {error.message}")
        builder.progress(number, len(book.sheets))


def _stream(book: StreamedBook, sheet: SheetPart, builder: DocumentBuilder) -> None:
    part = sheet.part or ""
    writer = RowWriter(builder, sheet.name, merged=book.merged(part))
    try:
        for row, cells in book.rows(part):
            writer.add(row, cells)
    finally:
        writer.flush()


class _Calamine:
    """The workbook in calamine, opened when the first sheet is asked for."""

    def __init__(self, path: Path, package: GuardedZip) -> None:
        self._path = path
        self._package = package
        self._workbook: Any = None
        self._failed = False

    def add(self, sheet: SheetPart, extent: Extent, builder: DocumentBuilder) -> bool:
        """Writes a sheet; False when nothing was written and the sheet must be streamed."""
        if self._workbook is None and not self._failed:
            self._open()
        if self._failed or len(extent.changed) > MOST_CHANGED:
            return False
        try:
            with _calamine_faults():
                one = self._workbook.get_sheet_by_name(sheet.name)
                # Counted first and then read again: a sheet held as a list of strings takes far more than its file.
                found = sum(len(row) - row.count("") for row in one.iter_rows())
        except DamagedFile:
            return False
        if found + extent.errors < extent.values:
            return False
        _write(_put_back(_rows(one), extent), RowWriter(builder, sheet.name, merged=_merged(one)))
        return True

    def _open(self) -> None:
        from python_calamine import CalamineWorkbook

        # What calamine inflates besides the sheets is counted here first.
        for name in self._package.names():
            if name.startswith("xl/") and name.rpartition("/")[0] == "xl":
                self._package.read(name)
        try:
            with _calamine_faults():
                self._workbook = CalamineWorkbook.from_path(str(self._path))
        except DamagedFile:
            self._failed = True


def _rows(sheet: Any) -> Iterator[list[str]]:
    """Rows of a calamine sheet from row 1 and column A on; calamine leaves out the blank columns on the left."""
    left = [""] * (sheet.start[1] if sheet.start is not None else 0)
    for row in sheet.iter_rows():
        yield left + [value_text(value) for value in row]


def _merged(sheet: Any) -> list[tuple[int, int, int, int]]:
    return [(top, left, bottom, right) for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()]


def _put_back(rows: Iterator[list[str]], extent: Extent) -> Iterator[list[str]]:
    """Rows with the texts that calamine changes (errors, long numbers) as they are in the file."""
    changed: dict[int, list[tuple[int, str]]] = {}
    for (row, column), text in extent.changed.items():
        changed.setdefault(row, []).append((column, text))
    number = -1
    for number, line in enumerate(rows):
        for column, text in changed.pop(number, ()):
            line.extend([""] * (column + 1 - len(line)))
            line[column] = text
        yield line
    for missing in range(number + 1, max(changed, default=0) + 1):
        line = []
        for column, text in changed.get(missing, ()):
            line.extend([""] * (column + 1 - len(line)))
            line[column] = text
        yield line


def _write(rows: Iterable[list[str]], writer: RowWriter) -> None:
    try:
        for number, row in enumerate(rows):
            writer.add(number, row)
    finally:
        writer.flush()


@contextmanager
def _calamine_faults() -> Iterator[None]:
    """Turns what calamine raises for a broken workbook into DamagedFile, the panics of its Rust code included.

    A panic is a BaseException: left alone it would end the process that reads.
    """
    from python_calamine import CalamineError

    try:
        yield
    except CalamineError as error:
        raise DamagedFile(exception=error, message=f"the workbook cannot be read ({error})") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedFile(message=f"the workbook cannot be read ({error})") from error


def _parse_with_calamine_only(path: Path, builder: DocumentBuilder) -> None:
    """XLSB, and XLS files that xlrd gave up on."""
    from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum

    try:
        with _calamine_faults():
            workbook = CalamineWorkbook.from_path(str(path))
    except DamagedFile as error:
        if isinstance(error.exception, PasswordError):
            raise PasswordRequired(
                exception=error.exception,
                message="the workbook is encrypted; save it without a password to have it read",
            ) from error
        if "Cannot detect file format" in str(error):
            raise UnsupportedFileType(exception=error.exception, message="not a spreadsheet of a known kind") from error
        raise
    kinds = (SheetTypeEnum.WorkSheet, SheetTypeEnum.MacroSheet)
    with_tables = [meta for meta in workbook.sheets_metadata if meta.typ in kinds]
    for number, meta in enumerate(with_tables, 1):
        try:
            with _calamine_faults():
                one = workbook.get_sheet_by_name(meta.name)
        except DamagedFile as error:
            builder.warn(f"sheet {meta.name!r} was not read: {error.message}")
            continue
        if one.start is not None:
            builder.add(HEADING, meta.name, level=1, sheet=meta.name)
        _write(_rows(one), RowWriter(builder, meta.name, merged=_merged(one)))
        builder.progress(number, len(with_tables))
