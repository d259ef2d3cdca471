"""Tables as Markdown: the one writer, and the one place that knows how to split what it wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A rule line is what tells a header from the rows: | --- | --- |
_RULE = re.compile(r"\|(?: ?:?-{3,}:? ?\|)+")


def markdown_cell(text: str) -> str:
    """One cell's text on one line, with what would end the cell escaped.

    Line breaks inside a cell become spaces: `<br>` would be text that the document does not have.
    """
    return " ".join(text.split()).replace("\\|", "|").replace("|", "\\|")


def markdown_row(cells: Sequence[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"


def markdown_table(rows: Sequence[Sequence[str]], header: bool = True) -> str:
    """A Markdown table, rows padded to one width.

    Args:
        rows: The cells as text, the header row first.
        header: False when the first row is no header; the table then has no rule line, one line a row.
    """
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [markdown_row([*row, *[""] * (width - len(row))]) for row in rows]
    if header:
        lines.insert(1, "| " + " | ".join(["---"] * width) + " |")
    return "\n".join(lines)


def header_length(lines: Sequence[str]) -> int:
    """How many of a table's first lines are its header: 2 (names and rule line) or 0."""
    return 2 if len(lines) >= 2 and _RULE.fullmatch(lines[1].strip()) else 0
