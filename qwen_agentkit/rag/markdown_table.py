"""The one writer of Markdown tables: every parser that finds a table gives it to `markdown_table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LINE_BREAKS = re.compile(r"\s*[\r\n\v\f\x85\u2028\u2029]+\s*")
MOST_FILLED = 2_000_000  # cells of a table that is filled up whatever its shape
_UNIT_SEPARATOR = "\x1f"
_NEEDS_CLEANING = re.compile(r"[|\r\n\v\f\x85\u2028\u2029]")


def markdown_table(rows: Iterable[Sequence[str | None]], *, header: bool = True) -> str:
    r"""Writes rows of cells as a Markdown (GFM) table.

    Args:
        rows: Cells as text; None is an empty cell. Shorter rows are filled with empty cells on the right.
        header: False when the first row is no header; there is then no rule line, just one line a row. A table of
            one row has no header.

    Returns:
        One line a row, without a line break at the end; '' when there is no row or no column. `|` inside a cell is
        written `\|`, line breaks inside a cell become one space, outer spaces of a cell are dropped.
    """
    table = [["" if cell is None else cell.strip() for cell in row] for row in rows]
    width = max((len(row) for row in table), default=0)
    if width == 0:
        return ""
    fill(table)
    lines = [_line(row) for row in table]
    if header and len(lines) > 1:
        lines.insert(1, "|" + " --- |" * len(table[0]))
    return "\n".join(lines)


def fill(table: list[list[str]]) -> None:
    """Fills short rows with empty cells on the right, in place.

    A table that would grow to many times its size by that (one very wide row among thousands of short ones) is a
    mistake or an attack and stays as it is.
    """
    width = max(map(len, table), default=0)
    if width * len(table) > max(MOST_FILLED, 8 * sum(map(len, table))):
        return
    for row in table:
        if len(row) < width:
            row.extend([""] * (width - len(row)))


def cell_text(text: str) -> str:
    r"""Text as it stands in a cell of a Markdown table: on one line, `|` written `\|`."""
    return _LINE_BREAKS.sub(" ", text.strip()).replace("|", r"\|")


def without_blank_edges(rows: Iterable[Sequence[str | None]]) -> list[list[str]]:
    """Rows without the blank rows and blank columns around (and the blank rows between) what is written.

    Args:
        rows: Cells as text; None is an empty cell.

    Returns:
        Rows of equal length (see `fill`); blank columns between written ones stay, so that columns keep their order
        and number.
    """
    table = [["" if cell is None else cell for cell in row] for row in rows]
    table = [row for row in table if any(cell and not cell.isspace() for cell in row)]
    if not table:
        return []
    first = min(next(column for column, cell in enumerate(row) if cell.strip()) for row in table)
    last = max(next(column for column in range(len(row), 0, -1) if row[column - 1].strip()) for row in table)
    table = [row[first:last] for row in table]
    fill(table)
    return table


def _line(cells: list[str]) -> str:
    joined = _UNIT_SEPARATOR.join(cells)
    if _NEEDS_CLEANING.search(joined) or joined.count(_UNIT_SEPARATOR) != len(cells) - 1:
        return "| " + " | ".join(cell_text(cell) for cell in cells) + " |"
    return "| " + joined.replace(_UNIT_SEPARATOR, " | ") + " |"
