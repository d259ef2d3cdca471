"""Lays out table cells that span rows and columns: one rule for DOCX, PPTX, HTML, ODT and spreadsheets.

A merged cell's text stands in every row and column that it covers, so that a row taken by itself still says what it
is about. A cell that covers the whole width of the table is a title and is written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
        Rows of equal length.
    """
    grid: list[list[str]] = []
    spans: list[list[tuple[int, int]]] = []  # per row: (first column, width) of cells wider than one column
    above: dict[int, tuple[str, int]] = {}  # column -> text and number of further rows that it fills
    used = 0
    for cells in rows:
        line: list[str] = []
        wide: list[tuple[int, int]] = []
        further: dict[int, tuple[str, int]] = {}

        def take_from_above(line: list[str] = line, further: dict[int, tuple[str, int]] = further) -> None:
            while len(line) in above:
                text, left = above.pop(len(line))
                if left > 1:
                    further[len(line)] = (text, left - 1)
                line.append(text)

        for cell in cells:
            take_from_above()
            width = min(max(cell.columns, 1), MAX_COLUMN_SPAN)
            height = min(max(cell.rows, 1), MAX_ROW_SPAN)
            if used + len(line) + width > max_cells:
                width = height = 1
            start = len(line)
            if width > 1:
                wide.append((start, width))
            for column in range(start, start + width):
                line.append(cell.text)
                if height > 1:
                    further[column] = (cell.text, height - 1)
                above.pop(column, None)
        for column in sorted(above):
            if column >= len(line):
                line.extend([""] * (column - len(line)))
                take_from_above()
        above = further
        used += len(line)
        grid.append(line)
        spans.append(wide)
    width = max((len(line) for line in grid), default=0)
    for line, wide in zip(grid, spans, strict=True):
        line.extend([""] * (width - len(line)))
        for start, length in wide:
            if length >= width:
                line[start + 1 : start + length] = [""] * (length - 1)
    return grid
