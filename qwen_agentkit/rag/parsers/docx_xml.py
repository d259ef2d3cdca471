"""Elements of WordprocessingML that `rag.parsers.docx` walks over: wrappers, paragraphs, rows and cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qwen_agentkit.rag.grid import Cell
from qwen_agentkit.rag.parsers.docx_styles import as_int, number_of
from qwen_agentkit.rag.parsers.ooxml import attribute, local

_TEXT_WRAPPERS = "ins moveTo customXml smartTag sdt sdtContent hyperlink fldSimple dir bdo r ruby rubyBase object"
_MATH_WRAPPERS = (
    "oMath oMathPara e sub sup num den deg fName box d m mr f sSup sSub sSubSup rad nary func acc bar limLow limUpp "
    "lim groupChr borderBox eqArr phant sPre"
)
WRAPPERS = frozenset(f"{_TEXT_WRAPPERS} {_MATH_WRAPPERS} body tc txbxContent".split())
"""Elements that only hold others, at block and at text level alike."""

SKIPPED = frozenset({"del", "moveFrom", "pPr", "rPr", "delText", "instrText", "delInstrText", "sdtPr", "sdtEndPr"})
"""Elements that are no text of the final document."""

MAX_DEPTH = 120
"""Depth of the walk's own calls; what is nested deeper is taken as flat text."""


def choice(element: Any) -> Any | None:
    """The branch of an `mc:AlternateContent` to read: its first choice; the fallback says the same again."""
    for name in ("Choice", "Fallback"):
        for child in element:
            if local(child.tag) == name:
                return child
    return None


def flat_text(element: Any) -> str:
    """Text below an element without structure, deletions left out."""
    parts = []
    for node in element.iter():
        name = local(node.tag)
        if name == "t" and node.text:
            parts.append(node.text)
        elif name in ("tab", "br", "p") and parts:
            parts.append(" ")
    return "".join(parts).strip()


def tidy(text: str) -> str:
    """Text without blank ends of lines; blanks inside are the author's."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def properties_of(element: Any, name: str) -> Any:
    """The settings of an element: children of its `pPr`, `tcPr` or `trPr`."""
    for child in element:
        if local(child.tag) == name:
            return child
    return ()


def paragraph_properties(paragraph: Any) -> tuple[str | None, int | None, str | None, int | None]:
    """Style, outline level (0 to 9), list and list level that a paragraph names itself."""
    style, outline, number, level = None, None, None, None
    for setting in properties_of(paragraph, "pPr"):
        name = local(setting.tag)
        if name == "pStyle":
            style = attribute(setting, "val")
        elif name == "outlineLvl":
            outline = as_int(attribute(setting, "val"))
        elif name == "numPr":
            number, level = number_of(setting)
    return style, outline, number, level


def table_rows(table: Any) -> Iterator[Any]:
    """Rows of a table, those of content controls and insertions included, deleted ones not."""
    for child in table:
        name = local(child.tag)
        if name == "tr":
            if not any(local(setting.tag) == "del" for setting in properties_of(child, "trPr")):
                yield child
        elif name in WRAPPERS:
            yield from table_rows(child)


def row_cells(row: Any) -> Iterator[Any]:
    """Cells of a row, those of content controls and insertions included."""
    for child in row:
        name = local(child.tag)
        if name == "tc":
            yield child
        elif name in ("sdt", "sdtContent", "customXml", "smartTag", "ins"):
            yield from row_cells(child)


def columns_before(row: Any) -> int:
    """Grid columns left out before the first cell of a row."""
    for setting in properties_of(row, "trPr"):
        if local(setting.tag) == "gridBefore":
            return min(as_int(attribute(setting, "val")) or 0, 63)  # Word has 63 columns at most
    return 0


def merge_down(rows: list[list[tuple[str, int, str | None]]]) -> list[list[Cell]]:
    """Cells with the rows that each covers, counted from the marks of downward merging."""
    result: list[list[Cell]] = []
    open_at: dict[int, tuple[int, int]] = {}  # grid column -> row and place of the cell being merged down
    for number, row in enumerate(rows):
        line: list[Cell] = []
        column = 0
        still_open: dict[int, tuple[int, int]] = {}
        for text, span, merge in row:
            start = open_at.get(column)
            if merge == "continue" and start is not None and not text:
                above = result[start[0]][start[1]]
                result[start[0]][start[1]] = Cell(above.text, above.columns, above.rows + 1)
                still_open[column] = start
            else:
                if merge == "restart":
                    still_open[column] = (number, len(line))
                line.append(Cell(text, span))
            column += span
        open_at = still_open
        result.append(line)
    return result
