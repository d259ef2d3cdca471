"""PPTX: a walk over each slide's XML (ECMA-376 part 1, section 19); a page is a slide.

Read straight from the package instead of through python-pptx: that library loads every part at once, so one broken
slide or one strict file costs the whole presentation, and it stops at shapes and charts that it does not know. Here
a slide or shape that cannot be read costs itself and a warning, and media are not unpacked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CAPTION, HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.grid import Cell, lay_out
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers.drawingml import chart_rows, chart_title, diagram_lines, drawing_text, paragraph_text
from qwen_agentkit.rag.parsers.media import keep_image, spoken_description
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

_TITLES = frozenset({"title", "ctrTitle"})
_BULLETED = frozenset({"body", "obj"})  # placeholders whose paragraphs are bullets unless they say otherwise
_MAX_GROUP_DEPTH = 60
# What file-given default titles look like; they say nothing about the document.
_EMPTY_TITLES = frozenset({"powerpoint presentation", "presentation", "slide 1", "powerpoint-präsentation"})


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a PPTX into the builder, slide by slide in the order of the presentation.

    Args:
        path: The file.
        builder: Takes the blocks, warnings and pictures.
        options: `keep_images` keeps pictures, `limits` bound what comes out of the package.

    Raises:
        PasswordRequired: The presentation is encrypted.
        DamagedFile: It is no PPTX, or names no slides.
        LimitExceededInFile: The package expands too much, or holds too much text.
    """
    with open_package(path, options.limits) as package:
        part = main_part(package, "ppt/presentation.xml")
        root = read_xml(package, part)
        if root is None:
            raise DamagedFile(message=f"the main part of the presentation ({part}) is not readable XML")
        slides = _slides(package, part, root, builder)
        title = core_title(package)
        builder.title = None if (title or "").lower() in _EMPTY_TITLES else title
        builder.page_count = len(slides)
        reader = _Reader(package, builder, options)
        for number, name in enumerate(slides, 1):
            reader.slide(number, name)
            builder.progress(number, len(slides))
        if reader.unread:
            numbers = ", ".join(map(str, reader.unread[:20])) + (", ..." if len(reader.unread) > 20 else "")
            builder.warn(f"slides without text but with pictures (OCR is needed to read them): {numbers}")


def _slides(package: GuardedZip, part: str, root: Any, builder: DocumentBuilder) -> list[str | None]:
    """Names of the slides' parts in the order of the presentation; None for one that is missing."""
    links = relationships(package, part)
    names: list[str | None] = []
    for element in root.iter("{*}sldId"):
        key = next((value for name, value in element.attrib.items() if name.endswith("}id")), None)
        link = links.get(key or "")
        names.append(link.target if link is not None and not link.external else None)
    if names:
        return names
    # The list of slides is damaged: the numbers in the parts' names give the order.
    found = [name for name in package.names() if name.startswith("ppt/slides/slide") and name.endswith(".xml")]
    if found:
        builder.warn("the list of slides is missing; slides are in the order of their file names")
    found.sort(key=lambda name: (len(name), name))
    return [*found]


class _Reader:
    """State of one reading: the package and what was written already."""

    def __init__(self, package: GuardedZip, builder: DocumentBuilder, options: ReadOptions) -> None:
        self.package = package
        self.builder = builder
        self.options = options
        self.page = 0
        self.links: dict[str, Relationship] = {}
        self.footers: set[str] = set()
        self.untitled = False  # nothing of this slide has been written yet, and it has no title
        self.unread: list[int] = []  # slides of pictures alone

    def slide(self, number: int, name: str | None) -> None:
        """Reads one slide with its notes and comments; what is wrong with it becomes a warning."""
        self.page = number
        try:
            root = read_xml(self.package, name) if name else None
            if name is None or root is None:
                self.builder.warn(f"slide {number} is missing or cannot be read")
                return
            self.links = relationships(self.package, name)
        except DamagedFile as error:
            self.builder.warn(f"slide {number} was not read: {error.message}")
            return
        shapes = self._shapes(root)
        title = next((text for shape in shapes if _placeholder(shape) in _TITLES and (text := _title(shape))), "")
        self.untitled = not title
        self._add(HEADING, title)
        if title and self.builder.title is None:
            self.builder.title = title
        for shape in shapes:
            if _placeholder(shape) in _TITLES and _title(shape) == title:
                continue
            try:
                self._shape(shape)
            except (ValueError, KeyError, IndexError, AttributeError, TypeError, DamagedFile) as error:
                self.builder.warn(f"a shape on slide {number} was not read: {error}")
        self._beside()
        if self.untitled and any(local(shape.tag) == "pic" for shape in shapes):
            self.unread.append(number)

    def _shapes(self, root: Any) -> list[Any]:
        tree = next(root.iter("{*}spTree"), None)
        return self._flattened(tree, 0) if tree is not None else []

    def _flattened(self, tree: Any, depth: int) -> list[Any]:
        """Shapes of a tree in its order, those in groups of groups included."""
        shapes: list[Any] = []
        for child in tree:
            name = local(child.tag)
            if name == "grpSp" and depth < _MAX_GROUP_DEPTH:
                shapes.extend(self._flattened(child, depth + 1))
            elif name == "grpSp":
                shapes.extend(one for one in child.iter() if local(one.tag) in ("sp", "pic", "graphicFrame"))
            elif name == "AlternateContent":
                branch = next((one for one in child if local(one.tag) in ("Choice", "Fallback")), None)
                if branch is not None and depth < _MAX_GROUP_DEPTH:
                    shapes.extend(self._flattened(branch, depth + 1))
            elif name in ("sp", "pic", "graphicFrame", "cxnSp", "contentPart"):
                shapes.append(child)
        return shapes

    def _shape(self, shape: Any) -> None:
        name = local(shape.tag)
        if name == "graphicFrame":
            self._frame(shape)
        elif name == "pic":
            self._picture(shape)
        else:
            kind = _placeholder(shape)
            if kind in ("sldNum", "dt"):
                return
            if kind in ("ftr", "hdr"):
                text = drawing_text(shape)
                if text not in self.footers:
                    self.footers.add(text)
                    self._add(NOTE, f"Footer: {text}" if text else "")
                return
            self._text(shape, bulleted=kind in _BULLETED)
            self._description(shape)

    def _text(self, shape: Any, *, bulleted: bool) -> None:
        """Paragraphs of a shape: bullets as list items, the others joined to one block."""
        body = next((child for child in shape if local(child.tag) == "txBody"), None)
        paragraphs = [child for child in (body if body is not None else ()) if local(child.tag) == "p"]
        plain: list[str] = []
        numbers: dict[int, int] = {}
        several = sum(1 for paragraph in paragraphs if paragraph_text(paragraph)) > 1
        for paragraph in paragraphs:
            text = paragraph_text(paragraph)
            if not text:
                continue
            level, marker = _bullet(paragraph, bulleted and several, numbers)
            if marker:
                self._add(TEXT, "\n".join(plain))
                plain = []
                self._add(LIST_ITEM, "  " * level + f"{marker} {text}")
            else:
                plain.append(text)
        self._add(TEXT, "\n".join(plain))

    def _frame(self, shape: Any) -> None:
        """A table, chart or SmartArt diagram."""
        for element in shape.iter():
            name = local(element.tag)
            if name == "tbl":
                self._add(TABLE, markdown_table(without_blank_edges(lay_out(_table_rows(element)))))
            elif name == "chart":
                root = self._part(attribute(element, "id"))
                if root is not None:
                    self._add(CAPTION, chart_title(root) or "")
                    self._add(TABLE, markdown_table(chart_rows(root)))
            elif name == "relIds":
                root = self._part(attribute(element, "dm"))
                for level, text in diagram_lines(root) if root is not None else ():
                    self._add(LIST_ITEM, "  " * level + f"- {text}")
        self._description(shape)

    def _picture(self, shape: Any) -> None:
        description = self._description(shape)
        if not self.options.keep_images:
            return
        for element in shape.iter():
            if local(element.tag) == "blip":
                link = self.links.get(attribute(element, "embed") or "")
                if link is not None and not link.external:
                    data = self.package.read(link.target)
                    keep_image(self.builder, data, name=description or link.target.rpartition("/")[2], page=self.page)

    def _description(self, shape: Any) -> str | None:
        """Writes the alternative text of a picture or drawing, if it has one."""
        element = next(shape.iter("{*}cNvPr"), None)
        if element is None:
            return None
        description = spoken_description(element.get("descr") or element.get("title"))
        self._add(CAPTION, f"Image: {description}" if description else "")
        return description or None

    def _beside(self) -> None:
        """Speaker notes and comments of the slide."""
        for link in self.links.values():
            if link.external or link.kind not in ("notesSlide", "comments", "comment"):
                continue
            try:
                root = read_xml(self.package, link.target)
            except DamagedFile as error:
                self.builder.warn(f"{link.kind} of slide {self.page} was not read: {error.message}")
                continue
            if root is None:
                continue
            if link.kind == "notesSlide":
                for shape in self._shapes(root):
                    if _placeholder(shape) in ("body", ""):
                        text = drawing_text(shape)
                        self._add(NOTE, f"Speaker notes: {text}" if text else "")
                continue
            for comment in root.iter():
                if local(comment.tag) == "cm":
                    text = " ".join(part.text or "" for part in comment if local(part.tag) == "text")
                    text = text.strip() or drawing_text(comment)
                    self._add(NOTE, f"Comment: {text}" if text else "")

    def _part(self, key: str | None) -> Any | None:
        link = self.links.get(key or "")
        return None if link is None or link.external else read_xml(self.package, link.target)

    def _add(self, kind: str, text: str) -> None:
        if not text.strip():
            return
        if self.untitled:
            # A slide without a title gets a heading too, or it would stand under that of the slide before.
            self.untitled = False
            self.builder.add(HEADING, f"Slide {self.page}", level=1, page=self.page)
        self.builder.add(kind, text, level=1 if kind == HEADING else None, page=self.page)


def _placeholder(shape: Any) -> str:
    """Kind of a placeholder (`title`, `body`, `obj`, ...); '' for a shape that is none."""
    properties = shape[0] if len(shape) else ()
    for element in properties:
        if local(element.tag) == "nvPr":
            for child in element:
                if local(child.tag) == "ph":
                    return child.get("type") or "obj"
    return ""


def _title(shape: Any) -> str:
    return " ".join(drawing_text(shape).split())


def _bullet(paragraph: Any, bulleted: bool, numbers: dict[int, int]) -> tuple[int, str]:
    """Level and marker of a paragraph; '' when it is no list item."""
    settings = next((child for child in paragraph if local(child.tag) == "pPr"), None)
    level = 0
    if settings is not None:
        given = settings.get("lvl") or "0"
        level = min(int(given), 8) if given.isdigit() else 0
        for setting in settings:
            name = local(setting.tag)
            if name == "buNone":
                return level, ""
            if name == "buChar" or name == "buBlip":
                return level, "-"
            if name == "buAutoNum":
                start = setting.get("startAt") or "1"
                numbers[level] = numbers.get(level, int(start) - 1 if start.isdigit() else 0) + 1
                for deeper in [one for one in numbers if one > level]:
                    del numbers[deeper]
                return level, f"{numbers[level]}."
    return level, "-" if bulleted or level else ""


def _table_rows(table: Any) -> list[list[Cell]]:
    """Cells of an `a:tbl` without those that a merged one covers."""
    rows: list[list[Cell]] = []
    for row in table:
        if local(row.tag) != "tr":
            continue
        line: list[Cell] = []
        for cell in row:
            if local(cell.tag) != "tc" or _true(cell.get("hMerge")) or _true(cell.get("vMerge")):
                continue
            line.append(Cell(drawing_text(cell), _count(cell.get("gridSpan")), _count(cell.get("rowSpan"))))
        rows.append(line)
    return rows


def _true(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "on")


def _count(value: str | None) -> int:
    return int(value) if value is not None and value.isdigit() else 1
