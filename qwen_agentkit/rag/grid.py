"""Lays out table cells that span rows and columns: one rule for DOCX, PPTX, HTML, ODT and spreadsheets.

A merged cell's text stands in every row that it covers, so that a row taken by itself still says what it is about.
Across columns it is repeated where it is a heading of several columns, that is where the row below has several
cells under it; a title above the whole table and a wide field of a form are written once, in their first column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qwen_agentkit.rag.markdown_table import fill

# Spans beyond these are mistakes or attacks; HTML bounds them at 1000 and 65534.
MAX_COLUMN_SPAN = 1000
MAX_ROW_SPAN = 65_534


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is written in a file.

    Args:
        text: Its text.
        columns: Columns that it covers, 1 or more.
        rows: Rows that it covers, 1 or more.
    """

    text: str
    columns: int = 1
    rows: int = 1


def lay_out(rows: Iterable[Iterable[Cell]], *, max_cells: int = 2_000_000) -> list[list[str]]:
    """Puts cells on a grid, as a browser does.

    Args:
        rows: For each row its cells from left to right, without those that a cell from above or left covers.
        max_cells: Cells of the grid at most; spans are no longer followed beyond.

    Returns:
        Rows of equal length (see `fill`).
    """
    grid: list[list[str]] = []
    wide: list[tuple[int, int, int, int]] = []  # first row, row after the last, first column, column after the last
    above: dict[int, tuple[str, int]] = {}  # column -> text that stands there in this row and in how many more
    used = 0
    for number, cells in enumerate(rows):
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in cells:
            _take_from_above(line, above, below)
            columns = min(max(cell.columns, 1), MAX_COLUMN_SPAN)
            height = min(max(cell.rows, 1), MAX_ROW_SPAN)
            if used + len(line) + columns > max_cells:
                columns = height = 1
            start = len(line)
            if columns > 1:
                wide.append((number, number + height, start, start + columns))
            for column in range(start, start + columns):
                line.append(cell.text)
                above.pop(column, None)
                if height > 1:
                    below[column] = (cell.text, height - 1)
        for column in sorted(above):
            if column >= len(line):
                line.extend([""] * (column - len(line)))
                _take_from_above(line, above, below)
        used += len(line)
        above = below if used < max_cells else {}
        grid.append(line)
    fill(grid)
    for top, bottom, left, right in reversed(wide):  # from below, where it is settled what stands under each
        if not heads_columns(grid, top, bottom, left, right):
            for line in grid[top:bottom]:
                for column in range(left + 1, min(right, len(line))):
                    line[column] = ""
    return grid


def heads_columns(table: Sequence[Sequence[str]], top: int, below: int, left: int, right: int) -> bool:
    """True when a cell across several columns is a heading of them.

    Args:
        table: Rows of texts.
        top: First row of the cell; negative when it begins above the table.
        below: The row under it.
        left: Its first column.
        right: The column after its last.
    """
    if below >= len(table):
        return False
    under = [cell for cell in table[below][left:right] if cell.strip()]
    beside = [*table[max(top, 0)][:left], *table[max(top, 0)][right:]]
    return len(under) > 1 and any(cell.strip() for cell in beside)


def _take_from_above(line: list[str], above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]]) -> None:
    """Fills the next columns of a row with the cells that reach down into it."""
    while len(line) in above:
        column = len(line)
        text, left = above.pop(column)
        if left > 1:
            below[column] = (text, left - 1)
        line.append(text)
