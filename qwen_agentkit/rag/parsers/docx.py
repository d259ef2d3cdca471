"""DOCX: a walk over the document's XML in the order in which it is read (ECMA-376 part 1, section 17).

Body, tables, lists and headings stand where they stand in the file; foot notes, end notes, comments and text boxes
follow the paragraph that refers to them; headers and footers come once, at the beginning. Tracked insertions are
read, deletions are not. Both the transitional and the strict form are understood: only local names are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CAPTION, HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.grid import Cell, lay_out
from qwen_agentkit.rag.limits import GuardedZip, ReadOptions
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers import docx_styles as styling
from qwen_agentkit.rag.parsers.drawingml import chart_rows, chart_title, diagram_lines
from qwen_agentkit.rag.parsers.media import keep_image
from qwen_agentkit.rag.parsers.ooxml import (
    Relationship,
    attribute,
    core_title,
    local,
    main_part,
    open_package,
    read_xml,
    relationships,
)

# Elements that only wrap others, at block and at text level alike.
_WRAPPERS = frozenset(
    {"ins", "moveTo", "customXml", "smartTag", "sdtContent", "hyperlink", "fldSimple", "dir", "bdo", "r"}
)
_WRAPPERS |= {
    "ruby",
    "rubyBase",
    "oMath",
    "oMathPara",
    "e",
    "sub",
    "sup",
    "num",
    "den",
    "deg",
    "fName",
    "box",
    "d",
    "m",
    "mr",
}
_WRAPPERS |= {
    "f",
    "sSup",
    "sSub",
    "sSubSup",
    "rad",
    "nary",
    "func",
    "acc",
    "bar",
    "limLow",
    "limUpp",
    "lim",
    "groupChr",
}
_WRAPPERS |= {"borderBox", "eqArr", "phant", "sPre", "body", "tc", "object"}
_SKIPPED = frozenset({"del", "moveFrom", "pPr", "rPr", "delText", "instrText", "delInstrText", "sdtPr", "sdtEndPr"})
_BODY_BLOCKS = ["p", "tbl", "sdt", "ins", "moveTo", "customXml", "smartTag", "AlternateContent", "altChunk", "sectPr"]
_MAX_DEPTH = 120  # of our own calls; deeper text is taken flat


@dataclass
class _Paragraph:
    """Text of a paragraph and what hangs on it."""

    text: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)  # (footnote | endnote | comment, id)
    boxes: list[Any] = field(default_factory=list)  # w:txbxContent, w:tbl, or (kind, text) of a chart or diagram
    pictures: list[tuple[str | None, str | None]] = field(default_factory=list)  # (relationship, alternative text)


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a DOCX into the builder.

    Args:
        path: The file.
        builder: Takes the blocks, warnings and pictures.
        options: `keep_images` keeps pictures, `limits` bound what comes out of the package.

    Raises:
        PasswordRequired: The document is encrypted.
        DamagedFile: It is no DOCX, or its main part cannot be read at all.
        LimitExceededInFile: The package expands too much, or holds too much text.
    """
    with open_package(path, options.limits) as package:
        _Reader(package, builder, options).read()


class _Reader:
    """State of one reading: the package, its styles and lists, and what has been written already."""

    def __init__(self, package: GuardedZip, builder: DocumentBuilder, options: ReadOptions) -> None:
        self.package = package
        self.builder = builder
        self.options = options
        self.part = main_part(package, "word/document.xml")
        self.links = relationships(package, self.part)
        self.styles = styling.read_styles(package, self._linked("styles"))
        self.numbering = styling.read_numbering(package, self._linked("numbering"))
        self.notes: dict[str, dict[str, Any]] = {}
        self.title: str | None = None
        self.pictures = 0

    def read(self) -> None:
        """Headers and footers, then the body, streamed block by block."""
        self.builder.title = core_title(self.package)
        self._headers_and_footers()
        seen = False
        for element in self._body():
            seen = True
            self._block(element, 0)
        if self.title:
            self.builder.title = self.title
        if not seen and not self.builder.blocks and read_xml(self.package, self.part) is None:
            raise DamagedFile(message=f"the main part of the document ({self.part}) is not readable XML")
        if self.pictures and not self.builder.blocks:
            self.builder.warn(f"the document holds {self.pictures} pictures and no text; OCR is needed to read them")

    def _linked(self, kind: str) -> str | None:
        return next((link.target for link in self.links.values() if link.kind == kind and not link.external), None)

    def _body(self) -> Iterator[Any]:
        """Children of the body, each complete, dropped from memory after use."""
        from lxml import etree

        with self.package.open(self.part) as stream:
            events = etree.iterparse(
                stream,
                events=("end",),
                tag=[f"{{*}}{name}" for name in _BODY_BLOCKS],
                recover=True,
                huge_tree=True,
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
                remove_pis=True,
            )
            try:
                for _, element in events:
                    parent = element.getparent()
                    if parent is None or local(parent.tag) not in ("body", "background"):
                        continue
                    yield element
                    element.clear()
                    while (before := element.getprevious()) is not None:
                        parent.remove(before)
            except DamagedFile as error:
                self.builder.warn(f"the document is damaged; what stands before the damage was read ({error.message})")
            except etree.XMLSyntaxError as error:
                self.builder.warn(f"the document's XML is broken; what stands before that was read ({error})")

    # Blocks

    def _block(self, element: Any, depth: int) -> None:
        name = local(element.tag)
        if depth > _MAX_DEPTH:
            self.builder.add(TEXT, _flat(element))
        elif name == "p":
            self._paragraph(element, depth)
        elif name == "tbl":
            self._table(element, depth)
        elif name == "AlternateContent":
            chosen = _choice(element)
            for child in chosen if chosen is not None else ():
                self._block(child, depth + 1)
        elif name == "altChunk":
            self._foreign_part(element)
        elif name in _WRAPPERS or name in ("sdt", "txbxContent"):
            for child in element:
                self._block(child, depth + 1)

    def _paragraph(self, element: Any, depth: int) -> None:
        found = _Paragraph()
        self._inline(element, found, depth)
        text = _tidy("".join(found.text))
        style, outline, number, level = _properties(element)
        heading = outline + 1 if outline is not None and outline < 9 else styling.heading_level(self.styles, style)
        if outline == 9:
            heading = None
        by_style, style_level = styling.style_number(self.styles, style)
        number = by_style if number is None else number
        level = (style_level if level is None else level) or 0
        marker = ""
        if number not in (None, "0") and text:
            marker = self.numbering.marker(number or "", min(level, 8))
        if heading is not None and text:
            if styling.is_title(self.styles, style) and self.title is None:
                self.title = text
            marker = "" if marker == "-" else marker
            self.builder.add(HEADING, f"{marker} {text}".strip(), level=heading)
        elif text and (marker or (number is None and styling.is_list_style(self.styles, style))):
            self.builder.add(LIST_ITEM, "  " * level + f"{marker or '-'} {text}")
        elif text:
            self.builder.add(TEXT, text)
        self._hangers(found, depth)

    def _hangers(self, found: _Paragraph, depth: int) -> None:
        """What hangs on a paragraph: pictures, text boxes, notes, comments."""
        self.pictures += len(found.pictures)
        for link, description in found.pictures:
            if description:
                self.builder.add(CAPTION, f"Image: {description}")
            if link and self.options.keep_images:
                self._keep_picture(self.links.get(link), description)
        for box in found.boxes:
            if isinstance(box, tuple):
                self.builder.add(*box)
            else:
                self._block(box, depth + 1)
        for kind, key in found.notes:
            text = self._note(kind, key)
            if text:
                self.builder.add(NOTE, text)

    def _keep_picture(self, link: Relationship | None, description: str | None) -> None:
        if link is None or link.external:
            return
        try:
            data = self.package.read(link.target)
        except DamagedFile as error:
            self.builder.warn(f"a picture could not be read: {error.message}")
            return
        keep_image(self.builder, data, name=description or link.target.rpartition("/")[2])

    def _foreign_part(self, element: Any) -> None:
        link = self.links.get(attribute(element, "id") or "")
        if link is None or link.external:
            self.builder.warn("a part of another format that the document includes is missing")
            return
        if link.target.lower().endswith((".htm", ".html", ".xhtml", ".mht", ".txt")):
            from qwen_agentkit.rag.parsers.html import add_html

            add_html(self.package.read(link.target), self.builder, set_title=False)
        else:
            self.builder.warn(f"an included part of another format was not read: {link.target.rpartition('/')[2]}")

    # Text

    def _inline(self, element: Any, found: _Paragraph, depth: int) -> None:
        for child in element:
            name = local(child.tag)
            if name == "t":
                found.text.append(child.text or "")
            elif name in _SKIPPED:
                continue
            elif name == "tab":
                found.text.append("\t")
            elif name in ("br", "cr"):
                found.text.append("\n")
            elif name == "noBreakHyphen":
                found.text.append("-")
            elif name == "sym":
                found.text.append(styling.symbol(child))
            elif name == "rt":
                reading = _flat(child)
                found.text.append(f"({reading})" if reading else "")
            elif name in ("footnoteReference", "endnoteReference", "commentReference"):
                found.notes.append((name.removesuffix("Reference"), attribute(child, "id") or ""))
            elif name == "AlternateContent":
                chosen = _choice(child)
                if chosen is not None:
                    self._inline(chosen, found, depth + 1)
            elif name == "drawing" or name == "pict":
                self._drawing(child, found)
            elif name == "tbl":
                found.boxes.append(child)
            elif depth > _MAX_DEPTH:
                found.text.append(_flat(child))
            elif name in _WRAPPERS or name == "sdt":
                self._math_or_wrapper(name, child, found, depth + 1)

    def _math_or_wrapper(self, name: str, element: Any, found: _Paragraph, depth: int) -> None:
        if name in ("f", "sSup", "sSub", "rad"):
            parts = [_flat(part) for part in element if not local(part.tag).endswith("Pr")]
            if name == "rad":
                found.text.append(f"√({parts[-1] if parts else ''})")
            else:
                joint = {"f": "/", "sSup": "^", "sSub": "_"}[name]
                found.text.append(joint.join(part if len(part) < 2 else f"({part})" for part in parts))
            return
        if name == "object":
            self._drawing(element, found)
            return
        self._inline(element, found, depth)

    def _drawing(self, element: Any, found: _Paragraph) -> None:
        """Text boxes, pictures and their alternative texts in a drawing, VML pictures included."""
        described: list[str] = []
        stack = [element]
        while stack:
            node = stack.pop()
            name = local(node.tag)
            if name == "txbxContent":
                found.boxes.append(node)
                continue
            if name == "AlternateContent":
                chosen = _choice(node)
                stack.extend([chosen] if chosen is not None else [])
                continue
            if name == "docPr":
                described.append((node.get("descr") or node.get("title") or "").strip())
            elif name in ("blip", "imagedata"):
                link = attribute(node, "embed") or attribute(node, "id")
                alternative = next((text for text in described if text), None) or (node.get("alt") or None)
                found.pictures.append((link, alternative))
                described = []
            elif name == "relIds":
                root = self._part(attribute(node, "dm"))
                lines = diagram_lines(root) if root is not None else []
                found.boxes.extend((LIST_ITEM, "  " * level + f"- {text}") for level, text in lines)
            elif name == "chart":
                root = self._part(attribute(node, "id"))
                if root is not None:
                    found.boxes.append((CAPTION, chart_title(root) or ""))
                    found.boxes.append((TABLE, markdown_table(chart_rows(root))))
            elif name == "shape" and node.get("alt"):
                described.append(node.get("alt", "").strip())
            stack.extend(reversed(node))
        for text in described:
            if text:
                found.pictures.append((None, text))

    def _part(self, key: str | None) -> Any | None:
        link = self.links.get(key or "")
        if link is None or link.external:
            return None
        try:
            return read_xml(self.package, link.target)
        except DamagedFile as error:
            self.builder.warn(str(error))
            return None

    # Tables

    def _table(self, element: Any, depth: int) -> None:
        rows = list(_rows(element))
        cells = [cell for row in rows for cell in _cells(row)]
        nested = any(local(part.tag) == "tbl" for cell in cells for part in cell.iter())
        if len(cells) == 1 or (nested and (len(rows) == 1 or len(cells) == len(rows))):
            # A frame around text, not a table: what is in it stands for itself.
            for cell in cells:
                self._block(cell, depth + 1)
            return
        hangers = _Paragraph()
        grid = lay_out(_merge_down([self._row(row, hangers, depth) for row in rows]))
        self.builder.add(TABLE, markdown_table(without_blank_edges(grid)))
        self._hangers(hangers, depth)

    def _row(self, row: Any, hangers: _Paragraph, depth: int) -> list[tuple[str, int, str | None]]:
        """Cells of a row: text, columns covered, and `restart` or `continue` where merged downwards."""
        cells: list[tuple[str, int, str | None]] = []
        before, _ = _grid_gaps(row)
        cells += [("", 1, None)] * before
        for cell in _cells(row):
            span, merge, sideways = 1, None, None
            for setting in _properties_of(cell, "tcPr"):
                name = local(setting.tag)
                if name == "gridSpan":
                    span = styling.as_int(attribute(setting, "val")) or 1
                elif name == "vMerge":
                    merge = attribute(setting, "val") or "continue"
                elif name == "hMerge":
                    sideways = attribute(setting, "val") or "continue"
            if sideways == "continue" and cells:
                text, width, state = cells[-1]
                cells[-1] = (text, width + span, state)
                continue
            cells.append((self._cell_text(cell, hangers, depth + 1), span, merge))
        return cells

    def _cell_text(self, cell: Any, hangers: _Paragraph, depth: int) -> str:
        """Text of a cell on one line; a table inside it is written cell by cell."""
        parts: list[str] = []
        for child in cell:
            name = local(child.tag)
            if depth > _MAX_DEPTH:
                parts.append(_flat(child))
            elif name == "p":
                parts.append(self._cell_paragraph(child, hangers, depth))
            elif name == "tbl":
                inner = [[self._cell_text(one, hangers, depth + 1) for one in _cells(row)] for row in _rows(child)]
                parts.append("; ".join(", ".join(text for text in row if text) for row in inner if any(row)))
            elif name == "AlternateContent":
                chosen = _choice(child)
                parts.append(self._cell_text(chosen, hangers, depth + 1) if chosen is not None else "")
            elif name in _WRAPPERS or name == "sdt":
                parts.append(self._cell_text(child, hangers, depth + 1))
        return " ".join(part for part in parts if part)

    def _cell_paragraph(self, element: Any, hangers: _Paragraph, depth: int) -> str:
        found = _Paragraph(notes=hangers.notes, pictures=hangers.pictures)
        self._inline(element, found, depth)
        text = _tidy("".join(found.text))
        style, _, number, level = _properties(element)
        if number is None:
            number, level = styling.style_number(self.styles, style)
        if text and number not in (None, "0"):
            marker = self.numbering.marker(number or "", min(level or 0, 8))
            text = f"{marker} {text}" if marker else text
        for box in found.boxes:
            inner = box[1] if isinstance(box, tuple) else self._cell_text(box, hangers, depth + 1)
            text = f"{text} {inner}".strip()
        return text

    # Beside the body

    def _note(self, kind: str, key: str) -> str:
        """Text of a foot note, end note or comment, headed by what it is."""
        if kind not in self.notes:
            self.notes[kind] = self._read_notes(kind)
        element = self.notes[kind].get(key)
        if element is None:
            return ""
        text = self._aside(element, f"{kind}s")
        label = {"footnote": "Footnote", "endnote": "Endnote", "comment": "Comment"}[kind]
        if kind == "comment":
            author = (attribute(element, "author") or "").strip()
            label = f"{label} by {author}" if author else label
        else:
            label = f"{label} {key}"
        return f"{label}: {text}" if text else ""

    def _read_notes(self, kind: str) -> dict[str, Any]:
        part = self._linked(f"{kind}s")
        try:
            root = read_xml(self.package, part) if part else None
        except DamagedFile as error:
            self.builder.warn(f"{kind}s were not read: {error.message}")
            root = None
        return {
            attribute(element, "id") or "": element
            for element in (root if root is not None else ())
            if local(element.tag) == kind and attribute(element, "type") not in ("separator", "continuationSeparator")
        }

    def _headers_and_footers(self) -> None:
        """Each different header and footer once; the body's sections only refer to them."""
        written: set[str] = set()
        for link in self.links.values():
            if link.kind not in ("header", "footer") or link.external:
                continue
            try:
                root = read_xml(self.package, link.target)
            except DamagedFile as error:
                self.builder.warn(f"a {link.kind} was not read: {error.message}")
                continue
            text = self._aside(root, link.target) if root is not None else ""
            label = link.kind.capitalize()
            if text and text not in written:
                written.add(text)
                self.builder.add(NOTE, f"{label}: {text}")

    def _aside(self, root: Any, part: str) -> str:
        """Text of a part beside the body, by the same walk, collected instead of written."""
        builder = DocumentBuilder(self.builder.source, self.builder.file_type, self.options.limits)
        body, links = self.builder, self.links
        self.builder = builder
        if "/" in part:
            self.links = relationships(self.package, part)
        try:
            for child in root:
                self._block(child, 1)
        finally:
            self.builder, self.links = body, links
        for image in builder.images:
            body.add_image(image)
        return "\n".join(block.text for block in builder.blocks)


def _choice(element: Any) -> Any | None:
    """The branch of an `mc:AlternateContent` to read: its first choice; the fallback says the same again."""
    for name in ("Choice", "Fallback"):
        for child in element:
            if local(child.tag) == name:
                return child
    return None


def _flat(element: Any) -> str:
    """Text below an element without structure, deletions left out."""
    parts = []
    for node in element.iter():
        name = local(node.tag)
        if name == "t" and node.text:
            parts.append(node.text)
        elif name in ("tab", "br", "p") and parts:
            parts.append(" ")
    return "".join(parts).strip()


def _tidy(text: str) -> str:
    """Text without blank ends of lines; blanks inside are the author's."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def _properties_of(element: Any, name: str) -> Any:
    for child in element:
        if local(child.tag) == name:
            return child
    return ()


def _properties(paragraph: Any) -> tuple[str | None, int | None, str | None, int | None]:
    """Style, outline level (0 to 9), list and list level that a paragraph names itself."""
    style, outline, number, level = None, None, None, None
    for setting in _properties_of(paragraph, "pPr"):
        name = local(setting.tag)
        if name == "pStyle":
            style = attribute(setting, "val")
        elif name == "outlineLvl":
            outline = styling.as_int(attribute(setting, "val"))
        elif name == "numPr":
            number, level = styling.number_of(setting)
    return style, outline, number, level


def _rows(table: Any) -> Iterator[Any]:
    """Rows of a table, those of content controls and insertions included, deleted ones not."""
    for child in table:
        name = local(child.tag)
        if name == "tr":
            if not any(local(setting.tag) == "del" for setting in _properties_of(child, "trPr")):
                yield child
        elif name in _WRAPPERS or name == "sdt":
            yield from _rows(child)


def _cells(row: Any) -> Iterator[Any]:
    for child in row:
        name = local(child.tag)
        if name == "tc":
            yield child
        elif name in ("sdt", "sdtContent", "customXml", "smartTag", "ins"):
            yield from _cells(child)


def _grid_gaps(row: Any) -> tuple[int, int]:
    """Grid columns left out before and after the cells of a row."""
    before = after = 0
    for setting in _properties_of(row, "trPr"):
        if local(setting.tag) == "gridBefore":
            before = styling.as_int(attribute(setting, "val")) or 0
        elif local(setting.tag) == "gridAfter":
            after = styling.as_int(attribute(setting, "val")) or 0
    return min(before, 63), min(after, 63)  # Word has 63 columns at most


def _merge_down(rows: list[list[tuple[str, int, str | None]]]) -> list[list[Cell]]:
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
