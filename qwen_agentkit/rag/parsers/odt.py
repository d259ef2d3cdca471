"""ODT: a walk over the text of an OpenDocument (OASIS OpenDocument 1.3, part 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CAPTION, HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.grid import Cell, lay_out
from qwen_agentkit.rag.guards import GuardedZip, open_zip
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers.media import keep_image
from qwen_agentkit.rag.parsers.ooxml import attribute, local, read_xml
from qwen_agentkit.rag.parsers.opendocument import check_not_encrypted, document_title, paragraphs, repeated, text_of

_SKIPPED = frozenset(
    {"tracked-changes", "forms", "sequence-decls", "variable-decls", "user-field-decls", "dde-connection-decls"}
)
_MAX_DEPTH = 100
_MAX_COLUMNS = 1000


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads an ODT into the builder.

    Args:
        path: The file.
        builder: Takes the blocks, warnings and pictures.
        options: `keep_images` keeps pictures, `limits` bound what comes out of the package.

    Raises:
        PasswordRequired: The document is encrypted.
        DamagedFile: It is no OpenDocument, or its content cannot be read.
        LimitExceededInFile: The package expands too much, or holds too much text.
    """
    with open_zip(path, options.limits) as package:
        check_not_encrypted(package)
        root = read_xml(package, "content.xml")
        if root is None:
            raise DamagedFile(message="the document has no readable content (content.xml)")
        builder.title = document_title(package)
        reader = _Reader(package, builder, options, _numbered_lists(root, read_xml(package, "styles.xml")))
        reader.headers_and_footers(read_xml(package, "styles.xml"))
        body = next((element for element in root if local(element.tag) == "body"), root)
        reader.blocks(body, 0)
        if not builder.blocks and any(local(element.tag) == "image" for element in body.iter()):
            builder.warn("the document holds pictures and no text; OCR is needed to read it")


def _numbered_lists(*roots: Any) -> set[str]:
    """Names of the list styles whose first level is numbered."""
    names = set()
    for root in roots:
        for element in root.iter() if root is not None else ():
            if local(element.tag) != "list-style" or not len(element):
                continue
            if local(element[0].tag) == "list-level-style-number" and attribute(element[0], "num-format"):
                names.add(attribute(element, "name") or "")
    return names


class _Reader:
    """State of one reading: the package, and notes and frames that wait for the end of their paragraph."""

    def __init__(self, package: GuardedZip, builder: DocumentBuilder, options: ReadOptions, numbered: set[str]) -> None:
        self.package = package
        self.builder = builder
        self.options = options
        self.numbered = numbered
        self.waiting: list[Any] = []

    def headers_and_footers(self, styles: Any | None) -> None:
        """Each different header and footer of the page styles, once."""
        written: set[str] = set()
        for element in styles.iter() if styles is not None else ():
            name = local(element.tag)
            if name in ("header", "footer", "header-left", "footer-left", "header-first", "footer-first"):
                text = "\n".join(paragraphs(element, self.waiting.append))
                self.waiting.clear()
                if text and text not in written:
                    written.add(text)
                    self.builder.add(NOTE, f"{name.split('-')[0].capitalize()}: {text}")

    def blocks(self, parent: Any, depth: int) -> None:
        """Writes what stands below an element, in order."""
        for child in parent:
            name = local(child.tag)
            if name in _SKIPPED or not name:
                continue
            if name == "h":
                level = attribute(child, "outline-level") or "1"
                text = text_of(child, self.waiting.append)
                if attribute(child, "is-list-header") is None or text:
                    self.builder.add(HEADING, text, level=min(int(level), 9) if level.isdigit() else 1)
                self._beside(depth)
            elif name == "p":
                text = text_of(child, self.waiting.append)
                is_title = (attribute(child, "style-name") or "") == "Title"
                self.builder.add(HEADING if is_title else TEXT, text, level=1 if is_title else None)
                self._beside(depth)
            elif name == "list":
                self._list(child, 0, attribute(child, "style-name") in self.numbered, depth)
            elif name == "table":
                self._table(child, depth)
            elif name in ("frame", "custom-shape", "rect", "ellipse", "g"):
                self.waiting.append(child)
                self._beside(depth)
            elif depth < _MAX_DEPTH:
                self.blocks(child, depth + 1)
            else:
                self.builder.add(TEXT, " ".join("".join(child.itertext()).split()))

    def _list(self, element: Any, level: int, numbered: bool, depth: int) -> None:
        number = 0
        for item in element:
            if local(item.tag) not in ("list-item", "list-header"):
                continue
            number += 1
            marker = f"{number}." if numbered else "-"
            for child in item:
                name = local(child.tag)
                if name in ("p", "h"):
                    text = text_of(child, self.waiting.append)
                    self.builder.add(LIST_ITEM, "  " * level + f"{marker} {text}" if text else "")
                    marker = " " * len(marker)
                    self._beside(depth)
                elif name == "list" and level < _MAX_DEPTH:
                    style = attribute(child, "style-name")
                    self._list(child, level + 1, style in self.numbered if style else numbered, depth)
                elif name == "table":
                    self._table(child, depth + 1)

    def _table(self, element: Any, depth: int) -> None:
        rows = [row for row in element.iter() if local(row.tag) == "table-row" and _owner(row) is element]
        cells = [cell for row in rows for cell in row if local(cell.tag) == "table-cell"]
        if len(cells) == 1 and depth < _MAX_DEPTH:
            self.blocks(cells[0], depth + 1)
            return
        grid: list[list[Cell]] = []
        for row in rows:
            line: list[Cell] = []
            for cell in row:
                if local(cell.tag) != "table-cell":
                    continue
                text = " ".join(paragraphs(cell, self.waiting.append))
                one = Cell(text, repeated(cell, "number-columns-spanned"), repeated(cell, "number-rows-spanned"))
                line += [one] * min(repeated(cell, "number-columns-repeated"), _MAX_COLUMNS if text else 1)
            copies = min(repeated(row, "number-rows-repeated"), _MAX_COLUMNS) if any(one.text for one in line) else 1
            grid += [line] * copies
        self.builder.add(TABLE, markdown_table(without_blank_edges(lay_out(grid))))
        self._beside(depth)

    def _beside(self, depth: int) -> None:
        """Writes the notes, annotations and frames of the paragraph before."""
        waiting, self.waiting = self.waiting, []
        for element in waiting:
            name = local(element.tag)
            if name == "note":
                self._note(element)
            elif name == "annotation":
                author = next((one.text for one in element if local(one.tag) == "creator" and one.text), None)
                words = [one for one in element if local(one.tag) in ("p", "list")]
                text = "\n".join(line for one in words for line in paragraphs(one, self.waiting.append))
                self.builder.add(NOTE, f"Comment{f' by {author}' if author else ''}: {text}" if text else "")
            elif depth < _MAX_DEPTH:
                self._frame(element, depth)

    def _note(self, element: Any) -> None:
        label = "Endnote" if attribute(element, "note-class") == "endnote" else "Footnote"
        for child in element:
            if local(child.tag) == "note-citation":
                label += f" {''.join(child.itertext()).strip()}"
            elif local(child.tag) == "note-body":
                text = "\n".join(paragraphs(child, self.waiting.append))
                self.builder.add(NOTE, f"{label}: {text}" if text else "")

    def _frame(self, element: Any, depth: int) -> None:
        description = ""
        for child in element:
            name = local(child.tag)
            if name in ("desc", "title") and (child.text or "").strip():
                description = child.text.strip()
            elif name == "text-box" or name == "frame":
                self.blocks(child, depth + 1)
            elif name in ("p", "list"):
                self.blocks(element, depth + 1)
                return
            elif name == "image" and self.options.keep_images:
                self._picture(attribute(child, "href") or "")
        self.builder.add(CAPTION, f"Image: {description}" if description else "")

    def _picture(self, name: str) -> None:
        if name in self.package:
            try:
                keep_image(self.builder, self.package.read(name), name=name.rpartition("/")[2])
            except DamagedFile as error:
                self.builder.warn(f"a picture could not be read: {error.message}")


def _owner(row: Any) -> Any:
    parent = row.getparent()
    while parent is not None and local(parent.tag) != "table":
        parent = parent.getparent()
    return parent
