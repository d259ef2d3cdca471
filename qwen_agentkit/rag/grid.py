"""Lays out table cells that span rows and columns: one rule for DOCX, PPTX, HTML, ODT and spreadsheets.

A merged cell's text stands in every row and column that it covers, so that a row taken by itself still says what it
is about. A cell that covers the whole width of the table is a title and is written once.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    spans: list[list[tuple[int, int]]] = []  # per row: first column and width of cells wider than one column
    above: dict[int, tuple[str, int]] = {}  # column -> text that stands there in this row and in how many more
    used = 0
    for cells in rows:
        line: list[str] = []
        wide: list[tuple[int, int]] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in cells:
            _take_from_above(line, above, below)
            columns = min(max(cell.columns, 1), MAX_COLUMN_SPAN)
            height = min(max(cell.rows, 1), MAX_ROW_SPAN)
            if used + len(line) + columns > max_cells:
                columns = height = 1
            start = len(line)
            if columns > 1:
                wide.append((start, columns))
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
        spans.append(wide)
    width = max((len(line) for line in grid), default=0)
    fill(grid)
    for line, wide in zip(grid, spans, strict=True):
        for start, length in wide:
            if length >= width:
                line[start + 1 : start + length] = [""] * (length - 1)
    return grid


def _take_from_above(line: list[str], above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]]) -> None:
    """Fills the next columns of a row with the cells that reach down into it."""
    while len(line) in above:
        column = len(line)
        text, left = above.pop(column)
        if left > 1:
            below[column] = (text, left - 1)
        line.append(text)
