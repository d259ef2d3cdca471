"""Cells of spreadsheets as text, and their rows as blocks: one writer for XLSX, XLS, ODS, CSV and TSV."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from qwen_agentkit.errors import LimitExceededInFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import TABLE, TEXT
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges

_NUMBER = re.compile(r"[-+]?[\d.,'\u00a0\u202f]*\d[\d.,'\u00a0\u202f]*\s*[%€$£¥]?|[€$£¥]\s*[-+]?[\d.,]*\d")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ROWS_LOOKED_AT = 12


def number_text(value: float) -> str:
    """A number in plain digits, without exponent, with the 15 digits that spreadsheets keep."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == int(value):
        return str(int(value))
    text = format(value, ".15g")
    return format(Decimal(text), "f") if "e" in text else text


def value_text(value: Any) -> str:
    """A cell's value as text: plain numbers, ISO dates, TRUE and FALSE, '' for an empty cell."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, dt.datetime):
        return moment_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.time):
        return value.isoformat("seconds")
    if isinstance(value, dt.timedelta):
        return duration_text(value)
    return str(value)


def moment_text(value: dt.datetime) -> str:
    """A point in time in ISO form, without the time when it is midnight; spreadsheets' fractions are rounded."""
    value = value + dt.timedelta(microseconds=500_000) if value.microsecond else value
    value = value.replace(microsecond=0)
    if value.hour == value.minute == value.second == 0:
        return value.date().isoformat()
    return value.isoformat(" ", "seconds")


def duration_text(value: dt.timedelta) -> str:
    """A duration as hours, minutes and seconds, hours beyond 24 included."""
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def column_name(number: int) -> str:
    """Letters of a column: 0 is A, 26 is AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


class RowWriter:
    """Takes the rows of one sheet in order and writes them as blocks: a blank row ends a table.

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
        self.rows: list[Sequence[str] | dict[int, str]] = []
        self.first = 0
        self._characters = 0
        self._starts: dict[int, list[tuple[int, int, int]]] = {}
        for top, left, bottom, right in merged:
            if (top, left) != (bottom, right):
                self._starts.setdefault(top, []).append((left, bottom, right))
        self._open: list[tuple[int, int, int, str]] = []  # first and last column, last row, text

    def add(self, row: int, cells: list[str] | dict[int, str]) -> None:
        """Adds a row.

        Args:
            row: Its number from 0; rows come in order, blank ones may be left out.
            cells: All its cells from column A, or, for a row with few and distant ones, those by their columns.

        Raises:
            LimitExceededInFile: The sheet has more cells than allowed; what came before has been written.
        """
        if self._starts or self._open:
            cells = self._filled(row, cells)
        written = sum(1 for cell in cells if cell) if isinstance(cells, list) else len(cells)
        if not written or (isinstance(cells, list) and not any(cell.strip() for cell in cells)):
            return
        if self.rows and row != self.first + len(self.rows):
            self.flush()
        try:
            self.builder.count_cells(written)
        except LimitExceededInFile:
            self.flush()
            raise
        if not self.rows:
            self.first = row
        self.rows.append(cells)
        # One long string that a thousand cells refer to grows when it is written out: stop in time.
        self._characters += sum(map(len, cells if isinstance(cells, list) else cells.values()))
        if self._characters > self.builder.limits.text_characters:
            self.flush()

    def flush(self) -> None:
        """Writes the rows since the last blank one; called once more after the last row."""
        rows, self.rows = self.rows, []
        self._characters = 0
        if not rows:
            return
        numbers = (self.first + 1, self.first + len(rows))
        if any(isinstance(row, dict) for row in rows):
            self.builder.add(TEXT, self._by_address(rows), sheet=self.sheet, rows=numbers)
            return
        table = without_blank_edges(row for row in rows if not isinstance(row, dict))
        if len(table[0]) == 1 and len(table) == 1:
            self.builder.add(TEXT, table[0][0].strip(), sheet=self.sheet, rows=numbers)
            return
        text = markdown_table(table, header=first_row_is_header(table))
        self.builder.add(TABLE, text, sheet=self.sheet, rows=numbers)

    def _by_address(self, rows: Sequence[Sequence[str] | dict[int, str]]) -> str:
        lines = []
        for number, row in enumerate(rows, self.first + 1):
            cells = row.items() if isinstance(row, dict) else enumerate(row)
            lines += [f"{column_name(column)}{number}: {' '.join(text.split())}" for column, text in cells if text]
        return "\n".join(lines)

    def _filled(self, row: int, cells: list[str] | dict[int, str]) -> list[str] | dict[int, str]:
        """The row with merged ranges filled; a merged cell that stands alone in its row is a title: written once."""
        self._open = [merge for merge in self._open if merge[2] >= row]
        fills = list(self._open)
        if isinstance(cells, dict):
            self._starts.pop(row, None)  # a sparse row is written cell by cell
            return cells
        for left, bottom, right in self._starts.pop(row, ()):
            text = cells[left] if left < len(cells) else ""
            if not text.strip():
                continue
            if bottom > row:
                self._open.append((left, right, bottom, text))
            if any(cell.strip() for column, cell in enumerate(cells) if column != left):
                fills.append((left, right, bottom, text))
        for left, right, _, text in fills:
            for column in range(left, min(right + 1, len(cells))):
                if not cells[column]:
                    cells[column] = text
        return cells


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
