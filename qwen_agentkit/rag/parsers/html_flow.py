"""`HtmlFlow`: start tags, text and end tags of a page become blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CAPTION, CODE, HEADING, LIST_ITEM, TABLE, TEXT
from qwen_agentkit.rag.grid import Cell, lay_out
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers.media import spoken_description

_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav noframes ol "
    "p pre search section select summary table td th tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_SKIPPED_NAMES = "script style template noscript svg iframe object applet canvas audio video rp"
_SKIPPED = frozenset(_SKIPPED_NAMES.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
_LONG_CELL = 2000  # characters of a cell beyond which a table is a frame for text


@dataclass
class _Item:
    kind: str
    text: str
    level: int | None = None


@dataclass
class _Cell:
    items: list[_Item] = field(default_factory=list)
    columns: int = 1
    rows: int = 1
    is_header: bool = False

    def text(self) -> str:
        return " ".join(item.text for item in self.items)


@dataclass
class _Table:
    rows: list[list[_Cell]] = field(default_factory=list)
    captions: list[_Item] = field(default_factory=list)
    list_depth: int = 0


class HtmlFlow:
    """Takes a page's events in order and writes its blocks.

    Args:
        builder: Takes the blocks.
        set_title: The `title` element becomes the document's title.
    """

    def __init__(self, builder: DocumentBuilder, *, set_title: bool = True) -> None:
        self.builder = builder
        self.anchors: dict[str, int] = {}
        self._set_title = set_title
        self._title: list[str] | None = None
        self._text: list[str] = []
        self._skip: str | None = None
        self._skip_depth = 0
        self._pre = 0
        self._tables: list[_Table] = []
        self._lists: list[list[str | int]] = []  # kind (ul, ol) and the number of the next item
        self._marker: str | None = None
        self._in_item = 0
        self._heading: int | None = None
        self._caption = False
        self._images: list[str] = []

    # Events

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A start tag."""
        if self._skip is not None:
            if tag == self._skip:
                self._skip_depth += 1
            return
        if tag in _SKIPPED:
            self._skip, self._skip_depth = tag, 1
            return
        if "id" in attributes:
            self.anchors.setdefault(attributes["id"], len(self.builder.blocks))
        if tag in _BLOCKS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag == "title":
            self._title = []
        elif tag in ("br", "option"):
            self._text.append("\n")
        elif tag == "pre" or tag == "textarea":
            self._pre += 1
        elif tag in ("ul", "ol", "menu", "dir"):
            first = attributes.get("start", "1")
            self._lists.append([tag, int(first) if first.isdigit() and len(first) < 9 else 1])
        elif tag == "li":
            self._start_item()
        elif tag == "table":
            self._tables.append(_Table(list_depth=len(self._lists)))
        elif tag == "tr":
            if self._tables:
                self._tables[-1].rows.append([])
        elif tag in ("td", "th"):
            self._start_cell(tag, attributes)
        elif tag in ("caption", "figcaption"):
            self._caption = True
        elif tag == "img":
            alternative = spoken_description(attributes.get("alt"))
            if alternative:
                self._images.append(alternative)
        elif tag == "sup" and self._text and self._text[-1][-1:].isdigit():
            self._text.append("^")  # 10 to the power of 6 is not 106
        elif tag == "rt":
            self._text.append("(")

    def end(self, tag: str) -> None:
        """An end tag."""
        if self._skip is not None:
            if tag == self._skip:
                self._skip_depth -= 1
                if self._skip_depth == 0:
                    self._skip = None
            return
        if tag in _BLOCKS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = None
        elif tag == "title" and self._title is not None:
            title = _SPACES.sub(" ", "".join(self._title)).strip()
            if title and self._set_title and not self.builder.title:
                self.builder.title = title
            self._title = None
        elif tag in ("pre", "textarea"):
            self._pre = max(0, self._pre - 1)
        elif tag in ("ul", "ol", "menu", "dir"):
            if self._lists:
                self._lists.pop()
        elif tag == "li":
            self._in_item = max(0, self._in_item - 1)
            self._marker = None
        elif tag == "table":
            self._end_table()
        elif tag in ("caption", "figcaption"):
            self._caption = False
        elif tag == "rt":
            self._text.append(")")

    def data(self, text: str) -> None:
        """Text between tags."""
        if self._skip is not None:
            return
        if self._title is not None:
            self._title.append(text)
        elif self._pre:
            self._text.append(text)
        else:
            self._text.append(_SPACES.sub(" ", text))

    def close(self) -> None:
        """The end of the page: what is still open is written."""
        if self._title is not None:  # a title that never ends has swallowed the page
            self._text = self._title + self._text
            self._title = None
        self._flush()
        while self._tables:
            self._end_table()

    # Blocks

    def _flush(self) -> None:
        if self._text:
            joined = "".join(self._text)
            self._text = []
            if self._pre:
                text = joined.strip("\r\n").rstrip()
            else:
                lines = (re.sub(" {2,}", " ", line).strip(" ") for line in joined.split("\n"))
                text = "\n".join(lines).strip()
            if text.strip():
                self._write(text)
        if self._images:
            images, self._images = self._images, []
            for alternative in images:
                self._emit(_Item(CAPTION, f"Image: {alternative}"))

    def _write(self, text: str) -> None:
        if self._heading is not None:
            self._emit(_Item(HEADING, " ".join(text.split("\n")), self._heading))
        elif self._caption:
            self._emit(_Item(CAPTION, text))
        elif self._pre:
            self._emit(_Item(CODE, text))
        elif self._in_item and self._lists:
            indent = "  " * (len(self._lists) - 1)
            lead = f"{self._marker} " if self._marker else "  "
            self._marker = None
            self._emit(_Item(LIST_ITEM, indent + lead + text))
        else:
            self._emit(_Item(TEXT, text))

    def _emit(self, item: _Item) -> None:
        if self._tables and self._caption and item.kind == CAPTION:
            self._tables[-1].captions.append(item)
        elif self._tables:
            table = self._tables[-1]
            if not table.rows:
                table.rows.append([])
            if not table.rows[-1]:
                table.rows[-1].append(_Cell())
            table.rows[-1][-1].items.append(item)
        else:
            self.builder.add(item.kind, item.text, level=item.level)

    def _start_item(self) -> None:
        self._in_item += 1
        if not self._lists:
            self._lists.append(["ul", 1])
        kind, number = self._lists[-1]
        self._marker = f"{number}." if kind == "ol" else "-"
        self._lists[-1][1] = int(number) + 1

    def _start_cell(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not self._tables:
            return
        rows = self._tables[-1].rows
        if not rows:
            rows.append([])
        cell = _Cell(columns=_span(attributes.get("colspan")), rows=_span(attributes.get("rowspan")))
        cell.is_header = tag == "th"
        rows[-1].append(cell)

    def _end_table(self) -> None:
        if not self._tables:
            return
        table = self._tables.pop()
        del self._lists[table.list_depth :]
        cells = [cell for row in table.rows for cell in row]
        for caption in table.captions:
            self._emit(caption)
        if not _is_data(table, cells):
            for cell in cells:
                for item in cell.items:
                    self._emit(item)
            return
        rows = [[Cell(_plain(cell), cell.columns, cell.rows) for cell in row] for row in table.rows if row]
        self._emit(_Item(TABLE, markdown_table(without_blank_edges(lay_out(rows)))))


def _is_data(table: _Table, cells: list[_Cell]) -> bool:
    """False for a table that only places things on the page."""
    if len([row for row in table.rows if row]) < 2 and len(cells) < 2:
        return False
    if any(item.kind == TABLE for cell in cells for item in cell.items):
        return any(cell.is_header for cell in cells)
    if any(cell.is_header for cell in cells):
        return True
    return not any(
        len(cell.text()) > _LONG_CELL or any(item.kind in (HEADING, CODE) for item in cell.items) for cell in cells
    )


def _plain(cell: _Cell) -> str:
    """Text of a cell on one line; a table inside it keeps its cells apart."""
    parts = []
    for item in cell.items:
        text = item.text
        if item.kind == TABLE:
            lines = text.split("\n")
            text = "; ".join(line.strip("| ").replace(" | ", ", ") for line in lines[:1] + lines[2:])
        parts.append(text)
    return " ".join(parts)


def _span(value: str | None) -> int:
    value = (value or "").strip()
    return int(value) if value.isdigit() and 0 < len(value) < 6 and int(value) else 1
