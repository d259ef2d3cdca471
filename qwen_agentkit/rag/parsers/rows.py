"""Rows of a spreadsheet become blocks: one writer for XLSX, XLS, ODS, CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qwen_agentkit.errors import LimitExceededInFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import TABLE, TEXT
from qwen_agentkit.rag.grid import heads_columns
from qwen_agentkit.rag.markdown_table import markdown_table
from qwen_agentkit.rag.parsers.cells import column_name

_NUMBER = re.compile(r"[-+]?[\d.,'\u00a0\u202f]*\d[\d.,'\u00a0\u202f]*\s*[%€$£¥]?|[€$£¥]\s*[-+]?[\d.,]*\d")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ROWS_LOOKED_AT = 12

# A table wider than this of which less than one cell in eight is filled is written cell by cell.
_WIDE, _SPARSE = 64, 8


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merged range, from 0, both ends included, with the text that it shows."""

    top: int
    left: int
    bottom: int
    right: int
    text: str = ""


class RowWriter:
    """Takes the rows of one sheet in order and writes them as blocks: a blank row ends a table.

    Merged ranges are filled by the rule of `qwen_agentkit.rag.grid`.

    Args:
        builder: Takes the blocks and counts the cells.
        sheet: Name of the sheet; None for a file that is one table.
        merged: Merged ranges as (first row, first column, last row, last column), from 0, both ends included.
    """

    def __init__(
        self,
        builder: DocumentBuilder,
        sheet: str | None = None,
        *,
        merged: Sequence[tuple[int, int, int, int]] = (),
    ) -> None:
        self.builder = builder
        self.sheet = sheet
        self._rows: list[list[str] | dict[int, str]] = []
        self._first = 0
        self._characters = 0
        self._starts: dict[int, list[_Merge]] = {}
        self._open: list[_Merge] = []  # reach down into the next rows
        self._wide: list[_Merge] = []  # cover several columns of the rows at hand
        for bounds in merged:
            self.merge(*bounds)

    def merge(self, top: int, left: int, bottom: int, right: int) -> None:
        """Announces a merged range, from 0, both ends included, before its first row is added."""
        if (top, left) != (bottom, right):
            self._starts.setdefault(top, []).append(_Merge(top, left, bottom, right))

    def add(self, row: int, cells: list[str] | dict[int, str]) -> None:
        """Adds a row.

        Args:
            row: Its number from 0; rows come in order, blank ones may be left out.
            cells: All its cells from column A, or, for a row with few and distant ones, those by their columns.

        Raises:
            LimitExceededInFile: The sheet has more cells than allowed; what came before has been written.
        """
        values = cells if isinstance(cells, list) else cells.values()
        if not any(cell and not cell.isspace() for cell in values):
            return
        if self._rows and row != self._first + len(self._rows):
            self.flush()
        if not self._rows:
            self._first = row
        if self._starts or self._open:
            self._fill_down(row, cells)
        try:
            self.builder.count_cells(sum(1 for cell in values if cell))
        except LimitExceededInFile:
            self.flush()
            raise
        self._rows.append(cells)
        # One long string that a thousand cells refer to grows when it is written out: stop in time.
        self._characters += sum(map(len, values))
        if self._characters > self.builder.limits.text_characters:
            self.flush()

    def flush(self) -> None:
        """Writes the rows since the last blank one; called once more after the last row."""
        rows, self._rows = self._rows, []
        merges, self._wide = self._wide, []
        self._characters = 0
        if not rows:
            return
        numbers = (self._first + 1, self._first + len(rows))
        left, right, filled = _extent(rows)
        width = right - left
        if width > _WIDE and width * len(rows) > _SPARSE * filled:
            self.builder.add(TEXT, self._by_address(rows), sheet=self.sheet, rows=numbers)
            return
        table = [_dense(row, right) for row in rows]
        self._fill_across(table, merges)
        table = [row[left:] for row in table]
        if len(table) == 1 and width == 1:
            self.builder.add(TEXT, table[0][0].strip(), sheet=self.sheet, rows=numbers)
            return
        text = markdown_table(table, header=first_row_is_header(table))
        self.builder.add(TABLE, text, sheet=self.sheet, rows=numbers)

    def _by_address(self, rows: Sequence[list[str] | dict[int, str]]) -> str:
        lines = []
        for number, row in enumerate(rows, self._first + 1):
            cells = row.items() if isinstance(row, dict) else enumerate(row)
            lines += [f"{column_name(column)}{number}: {' '.join(text.split())}" for column, text in cells if text]
        return "\n".join(lines)

    def _fill_down(self, row: int, cells: list[str] | dict[int, str]) -> None:
        """Writes merged cells from above into the row, and notes those that begin in it."""
        self._open = [merge for merge in self._open if merge.bottom >= row]
        for merge in self._open:
            _put(cells, merge.left, merge.text)
        for merge in self._starts.pop(row, ()):
            if isinstance(cells, dict):
                text = cells.get(merge.left, "")
            else:
                text = cells[merge.left] if merge.left < len(cells) else ""
            if not text.strip():
                continue
            merge = _Merge(merge.top, merge.left, merge.bottom, merge.right, text)
            if merge.bottom > row:
                self._open.append(merge)
            if merge.right > merge.left:
                self._wide.append(merge)

    def _fill_across(self, table: list[list[str]], merges: Sequence[_Merge]) -> None:
        for merge in sorted(merges, key=lambda merge: -merge.top):  # what stands below is settled first
            top, below = merge.top - self._first, merge.bottom + 1 - self._first
            if below >= len(table) or not heads_columns(table, top, below, merge.left, merge.right + 1):
                continue
            for row in table[max(top, 0) : below]:
                for column in range(merge.left + 1, min(merge.right + 1, len(row))):
                    row[column] = row[column] or merge.text


def _extent(rows: Sequence[list[str] | dict[int, str]]) -> tuple[int, int, int]:
    """First column, column after the last, and number of the cells with something in them."""
    left, right, filled = 1 << 30, 0, 0
    for row in rows:
        columns = sorted(row) if isinstance(row, dict) else [column for column, cell in enumerate(row) if cell]
        if columns:
            left, right, filled = min(left, columns[0]), max(right, columns[-1] + 1), filled + len(columns)
    return left, right, filled


def _dense(row: list[str] | dict[int, str], width: int) -> list[str]:
    if isinstance(row, dict):
        return [row.get(column, "") for column in range(width)]
    return row[:width] if len(row) > width else row + [""] * (width - len(row))


def _put(cells: list[str] | dict[int, str], column: int, text: str) -> None:
    """Writes a text where nothing stands; a row that does not reach so far is not made longer by much."""
    if isinstance(cells, dict):
        cells.setdefault(column, text)
    elif column < len(cells):
        cells[column] = cells[column] or text
    elif column < len(cells) + _WIDE:
        cells.extend([""] * (column - len(cells)))
        cells.append(text)


def first_row_is_header(table: Sequence[Sequence[str]]) -> bool:
    """True when the first row names the columns of the rows below it, and is not one of them.

    Args:
        table: Rows of cells.
    """
    if len(table) < 2:
        return False
    first = table[0]
    named = sum(1 for cell in first if cell.strip())
    if not named or (named == 1 and len(first) > 2):
        return False
    below = table[1 : 1 + _ROWS_LOOKED_AT]
    for column, cell in enumerate(first):
        if not cell.strip() or not _is_value(cell):
            continue
        values = [row[column].strip() for row in below if column < len(row) and row[column].strip()]
        years_over_others = bool(_YEAR.fullmatch(cell.strip())) and not all(map(_YEAR.fullmatch, values))
        if not years_over_others and values and sum(map(_is_value, values)) * 2 >= len(values):
            return False
    return True


def _is_value(text: str) -> bool:
    text = text.strip()
    return bool(_NUMBER.fullmatch(text) or _DATE.fullmatch(text))
