"""DOCX: a walk over the document's XML in the order in which it is read (ECMA-376 part 1, section 17).

Body, tables, lists and headings stand where they stand in the file; foot notes, end notes, comments and text boxes
follow the paragraph that refers to them; headers and footers come once, at the beginning. Tracked insertions are
read, deletions are not. Both the transitional and the strict form are understood: only local names are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CAPTION, HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.grid import lay_out
from qwen_agentkit.rag.guards import GuardedZip, xml_parser
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers import docx_styles as styling
from qwen_agentkit.rag.parsers.docx_text import ParagraphText, read_inline
from qwen_agentkit.rag.parsers.docx_xml import (
    MAX_DEPTH,
    WRAPPERS,
    choice,
    columns_before,
    flat_text,
    merge_down,
    paragraph_properties,
    properties_of,
    row_cells,
    table_rows,
    tidy,
)
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

_BODY_BLOCKS = ["p", "tbl", "sdt", "ins", "moveTo", "customXml", "smartTag", "AlternateContent", "altChunk", "sectPr"]

_WHOLE_PART = 4_000_000  # bytes of XML; as a tree they take about ten times as much


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
        self.document_links = relationships(package, self.part)
        self.links = self.document_links  # of the part being read: a header's are its own
        self.styles = styling.read_styles(package, self._linked("styles"))
        self.numbering = styling.read_numbering(package, self._linked("numbering"))
        self.notes: dict[str, dict[str, Any]] = {}
        self.note_numbers: dict[str, int] = {}
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
        found = (link for link in self.document_links.values() if link.kind == kind and not link.external)
        return next((link.target for link in found), None)

    def _body(self) -> Iterator[Any]:
        """Children of the body: of a small part from its tree, which is faster, else streamed."""
        from lxml import etree

        try:
            with self.package.open(self.part) as stream:
                data = stream.read(_WHOLE_PART + 1)
        except DamagedFile:
            data = b""  # streaming keeps what stands before the damage
        if not data or len(data) > _WHOLE_PART:
            yield from self._streamed_body()
            return
        try:
            root = etree.fromstring(data, xml_parser(huge_tree=True))
        except (etree.XMLSyntaxError, ValueError):
            return
        for part in root if root is not None else ():
            if local(part.tag) == "body":  # usually one
                yield from part

    def _streamed_body(self) -> Iterator[Any]:
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
                    if parent is None or local(parent.tag) != "body":
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
        if depth > MAX_DEPTH:
            self.builder.add(TEXT, flat_text(element))
        elif name == "p":
            self._paragraph(element, depth)
        elif name == "tbl":
            self._table(element, depth)
        elif name == "AlternateContent":
            chosen = choice(element)
            for child in chosen if chosen is not None else ():
                self._block(child, depth + 1)
        elif name == "altChunk":
            self._foreign_part(element)
        elif name in WRAPPERS:
            for child in element:
                self._block(child, depth + 1)

    def _paragraph(self, element: Any, depth: int) -> None:
        found = ParagraphText()
        read_inline(element, found, self._part, depth)
        text = tidy("".join(found.text))
        style, outline, number, level = paragraph_properties(element)
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

    def _hangers(self, found: ParagraphText, depth: int) -> None:
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
        if link.target.lower().endswith((".htm", ".html", ".xhtml")):
            from qwen_agentkit.rag.parsers.html import add_html

            add_html(self.package.read(link.target), self.builder, set_title=False)
        else:
            self.builder.warn(f"an included part of another format was not read: {link.target.rpartition('/')[2]}")

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
        rows = list(table_rows(element))
        cells = [cell for row in rows for cell in row_cells(row)]
        nested = any(next(cell.iter("{*}tbl"), None) is not None for cell in cells)
        if len(cells) == 1 or (nested and (len(rows) == 1 or len(cells) == len(rows))):
            # A frame around text, not a table: what is in it stands for itself.
            for cell in cells:
                self._block(cell, depth + 1)
            return
        hangers = ParagraphText()
        grid = lay_out(merge_down([self._row(row, hangers, depth) for row in rows]))
        self.builder.add(TABLE, markdown_table(without_blank_edges(grid)))
        self._hangers(hangers, depth)

    def _row(self, row: Any, hangers: ParagraphText, depth: int) -> list[tuple[str, int, str | None]]:
        """Cells of a row: text, columns covered, and `restart` or `continue` where merged downwards."""
        cells: list[tuple[str, int, str | None]] = []
        cells += [("", 1, None)] * columns_before(row)
        for cell in row_cells(row):
            span, merge, sideways = 1, None, None
            for setting in properties_of(cell, "tcPr"):
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

    def _cell_text(self, cell: Any, hangers: ParagraphText, depth: int) -> str:
        """Text of a cell on one line; a table inside it is written cell by cell."""
        parts: list[str] = []
        for child in cell:
            name = local(child.tag)
            if depth > MAX_DEPTH:
                parts.append(flat_text(child))
            elif name == "p":
                parts.append(self._cell_paragraph(child, hangers, depth))
            elif name == "tbl":
                inner = [
                    [self._cell_text(one, hangers, depth + 1) for one in row_cells(row)] for row in table_rows(child)
                ]
                parts.append("; ".join(", ".join(text for text in row if text) for row in inner if any(row)))
            elif name == "AlternateContent":
                chosen = choice(child)
                parts.append(self._cell_text(chosen, hangers, depth + 1) if chosen is not None else "")
            elif name in WRAPPERS:
                parts.append(self._cell_text(child, hangers, depth + 1))
        return " ".join(part for part in parts if part)

    def _cell_paragraph(self, element: Any, hangers: ParagraphText, depth: int) -> str:
        found = ParagraphText(notes=hangers.notes, pictures=hangers.pictures)
        read_inline(element, found, self._part, depth)
        text = tidy("".join(found.text))
        style, _, number, level = paragraph_properties(element)
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
        element = self.notes[kind].pop(key, None)  # once: a note may refer to itself
        if element is None:
            return ""
        text = self._aside(element, f"{kind}s")
        label = {"footnote": "Footnote", "endnote": "Endnote", "comment": "Comment"}[kind]
        if kind == "comment":
            author = (attribute(element, "author") or "").strip()
            label = f"{label} by {author}" if author else label
        else:
            # Counted as they appear, which is the number that Word shows; ids have gaps.
            self.note_numbers[kind] = self.note_numbers.get(kind, 0) + 1
            label = f"{label} {self.note_numbers[kind]}"
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
        for link in self.document_links.values():
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
