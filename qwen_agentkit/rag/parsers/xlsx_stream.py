"""XLSX sheets read from their XML (ECMA-376 part 1, section 18): how large they are, and their cells one row a time.

`scan` looks at the bytes of a sheet before any reader lays out a grid for it: one cell in the last corner makes such
readers ask for 17 thousand million cells. `StreamedBook.rows` reads sheets that are sparse, and those where the fast
reader would lose cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.parsers.cells import date_form, is_percent, number_text, percent_text, serial_text
from qwen_agentkit.rag.parsers.ooxml import Relationship, attribute, local, main_part, read_xml, relationships

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
MOST_CHANGED = 200_000  # cells beyond which a sheet is streamed instead of mended

_BLOCK = 1 << 20
_ADDRESS = re.compile(rb"<(?:\w+:)?c\s(?:[^>]*?\s)?r=[\"']([A-Z]{1,3})(\d{1,7})[\"']")
_PLAIN_ADDRESS = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')
_LONG_DIGITS = re.compile(rb"v>\d{16}")
_ROW = re.compile(rb"<(?:\w+:)?row\s(?:[^>]*?\s)?r=[\"'](\d{1,7})[\"']")
_VALUE = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?>[^<\s]|<(?:\w+:)?is[\s>]")
# Cells whose values the fast reader changes: errors, and whole numbers beyond the 15 digits of a float.
_ERROR_CELL = re.compile(
    rb"<(?:\w+:)?c\s(?=[^>]*?\bt=[\"']e[\"'])[^>]*?\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*>"
    rb"(?:(?!</(?:\w+:)?c>).){0,20000}?<(?:\w+:)?v[^>]*>([^<]*)<",
    re.DOTALL,
)
_LONG_NUMBER = re.compile(
    rb"<(?:\w+:)?c\s(?![^>]*?\bt=[\"'](?!n[\"']))[^>]*?\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*><(?:\w+:)?v>(\d{16,400})<"
)
_STYLED_NUMBER = re.compile(
    rb"<(?:\w+:)?c\s(?=([^>]*)>)(?![^>]*?\bt=[\"'](?!n[\"']))[^>]*?\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*>"
    rb"(?:<(?:\w+:)?f[^>]*/>|<(?:\w+:)?f[^>]*>[^<]*</(?:\w+:)?f>)?<(?:\w+:)?v>(-?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?)<"
)
_STYLE = re.compile(rb"\bs=[\"'](\d{1,6})[\"']")
_BUILT_IN_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


@dataclass
class Extent:
    """What `scan` found in a sheet.

    Args:
        rows: Number of the last row.
        columns: Number of the last column.
        cells: Cells that are written in the file, blank styled ones included.
        values: Cells with a value.
        errors: Cells with an error value, which the fast reader leaves blank.
        changed: Texts of cells that the fast reader would change, by (row, column) from 0.
    """

    rows: int = 0
    columns: int = 0
    cells: int = 0
    values: int = 0
    errors: int = 0
    changed: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def is_sparse(self) -> bool:
        """True when a grid of the sheet would be far larger than what is in it."""
        area = self.rows * self.columns
        return area > 1_000_000 and area > 4 * self.cells


def column_number(letters: bytes | str) -> int:
    """Number of a column from 0 by its letters."""
    number = 0
    for letter in letters if isinstance(letters, bytes) else letters.encode("ascii", "replace"):
        number = number * 26 + letter - 64
    return number - 1


def scan(package: GuardedZip, part: str, percents: frozenset[int] = frozenset()) -> Extent:
    """Looks through a sheet's bytes for its size and for cells that need care.

    Args:
        package: The open package.
        part: Name of the sheet's part.
        percents: Cell formats that show percentages.

    Raises:
        DamagedFile: The part's data are broken.
        LimitExceededInFile: The package expands too much.
    """
    extent = Extent()
    columns: set[bytes] = set()
    rest = b""
    with package.open(part) as stream:
        while block := stream.read(_BLOCK):
            data = rest + block
            cut = data.rfind(b"</row>") + 6 if b"</row>" in data else data.rfind(b"</c>") + 4
            if cut < 4:
                cut = data.rfind(b">") + 1
            data, rest = data[:cut], data[cut:]
            _scan_block(data, extent, columns, percents)
            if len(rest) > 64 * _BLOCK:
                rest = rest[-_BLOCK:]
    _scan_block(rest, extent, columns, percents)
    extent.columns = max((column_number(letters) + 1 for letters in columns), default=0)
    return extent


def _scan_block(data: bytes, extent: Extent, columns: set[bytes], percents: frozenset[int]) -> None:
    plain = b"<c " in data and b"='" not in data  # as nearly all writers do: no prefixes, double quotes
    found = (_PLAIN_ADDRESS if plain else _ADDRESS).findall(data)
    extent.cells += len(found) or data.count(b"<c>") + data.count(b"<c ")
    columns.update({letters for letters, _ in found})
    rows = {int(row) for row in {row for _, row in found}.union(_ROW.findall(data))}
    extent.rows = max(extent.rows, max(rows, default=0))
    if plain:
        extent.values += data.count(b"<v>") + data.count(b"<v ") - data.count(b"<v></v>") + data.count(b"<is>")
    else:
        extent.values += len(_VALUE.findall(data))
    if b't="e"' in data or b"t='e'" in data:
        for letters, row, text in _ERROR_CELL.findall(data):
            extent.changed[int(row) - 1, column_number(letters)] = text.decode("utf-8", "replace")
            extent.errors += 1
    if _LONG_DIGITS.search(data):
        for letters, row, text in _LONG_NUMBER.findall(data):
            extent.changed[int(row) - 1, column_number(letters)] = text.decode("ascii")
    if percents and len(extent.changed) <= MOST_CHANGED:
        for match in _STYLED_NUMBER.finditer(data):
            style = _STYLE.search(match.group(1))
            if style is not None and int(style.group(1)) in percents:
                address = (int(match.group(3)) - 1, column_number(match.group(2)))
                extent.changed[address] = percent_text(float(match.group(4)))


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A sheet of a workbook: its name, its part (None when missing) and its kind (`worksheet`, `chartsheet`, ...)."""

    name: str
    part: str | None
    kind: str


class StreamedBook:
    """A workbook's parts, read when needed."""

    def __init__(self, package: GuardedZip) -> None:
        self.package = package
        self.part = main_part(package, "xl/workbook.xml")
        self.links = relationships(package, self.part)
        root = read_xml(package, self.part)
        if root is None:
            raise DamagedFile(message=f"the main part of the workbook ({self.part}) is not readable XML")
        self.sheets: list[SheetPart] = []
        self.is_1904 = False
        for element in root.iter():
            name = local(element.tag)
            if name == "sheet":
                key = next((value for at, value in element.attrib.items() if at.endswith("}id")), "")
                number = len(self.sheets) + 1
                link = self.links.get(key) or self._usual_link("worksheet", f"worksheets/sheet{number}.xml")
                title = element.get("name") or f"Sheet {number}"
                self.sheets.append(SheetPart(title, link.target if link else None, link.kind if link else "worksheet"))
            elif name == "workbookPr":
                self.is_1904 = (element.get("date1904") or "").lower() in ("1", "true")

    def _linked(self, kind: str, usual: str) -> str | None:
        found = (link for link in self.links.values() if link.kind == kind and not link.external)
        link = next(found, None) or self._usual_link(kind, usual)
        return link.target if link is not None else None

    def _usual_link(self, kind: str, name: str) -> Relationship | None:
        """A part in its usual place, when the workbook's list of links is lost."""
        found = self.package.find(f"xl/{name}") if not self.links else None
        return Relationship(kind, found, False) if found is not None else None

    @cached_property
    def strings(self) -> list[str]:
        """The shared strings, phonetic readings left out."""
        part = self._linked("sharedStrings", "sharedStrings.xml")
        strings: list[str] = []
        if part is None:
            return strings
        for element in _elements(self.package, part, "si"):
            strings.append(_rich_text(element))
        return strings

    @cached_property
    def percent_styles(self) -> frozenset[int]:
        """Cell formats that show percentages."""
        return frozenset(index for index, form in self._styles.items() if form == "%")

    @cached_property
    def date_styles(self) -> dict[int, str]:
        """Cell formats that show dates, with their number format (`h` only, say)."""
        return {index: form for index, form in self._styles.items() if form != "%"}

    @cached_property
    def _styles(self) -> dict[int, str]:
        """Cell formats that change how a number is read: form of a date, or `%`."""
        part = self._linked("styles", "styles.xml")
        root = read_xml(self.package, part) if part else None
        custom: dict[str, str] = {}
        found: dict[int, str] = {}
        for element in root if root is not None else ():
            name = local(element.tag)
            if name == "numFmts":
                custom = {one.get("numFmtId") or "": one.get("formatCode") or "" for one in element}
            elif name == "cellXfs":
                for index, one in enumerate(element):
                    key = one.get("numFmtId") or "0"
                    form = custom.get(key)
                    if form is not None:
                        if plain := "%" if is_percent(form) else date_form(form):
                            found[index] = plain
                    elif key in ("9", "10"):
                        found[index] = "%"
                    elif key.isdigit() and int(key) in _BUILT_IN_DATES:
                        found[index] = "[h]:mm:ss" if key == "46" else "h:mm" if 18 <= int(key) <= 21 else "yyyy"
        return found

    def rows(self, part: str) -> Iterator[tuple[int, dict[int, str]]]:
        """Rows of a sheet with a value in them: number from 0, and the cells' texts by column from 0."""
        row_number = -1
        for row in _elements(self.package, part, "row"):
            given = row.get("r") or ""
            row_number = int(given) - 1 if given.isdigit() and int(given) else row_number + 1
            cells: dict[int, str] = {}
            column = -1
            for cell in row:
                if local(cell.tag) != "c":
                    continue
                letters = (cell.get("r") or "").rstrip("0123456789")
                column = column_number(letters) if letters.isascii() and letters.isalpha() else column + 1
                text = self._cell(cell)
                if text and 0 <= column < MAX_COLUMNS:
                    cells[column] = text
            if cells and row_number < MAX_ROWS:
                yield row_number, cells

    def merged(self, part: str) -> list[tuple[int, int, int, int]]:
        """Merged ranges of a sheet: first row, first column, last row, last column, from 0."""
        ranges = []
        for element in _elements(self.package, part, "mergeCell"):
            match = re.fullmatch(r"\$?([A-Z]{1,3})\$?(\d+):\$?([A-Z]{1,3})\$?(\d+)", element.get("ref") or "")
            if match:
                left, top, right, bottom = match.groups()
                ranges.append((int(top) - 1, column_number(left), int(bottom) - 1, column_number(right)))
        return ranges

    def _cell(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        value = next((child for child in cell if local(child.tag) in ("v", "is")), None)
        if value is None:
            return ""
        if local(value.tag) == "is":
            return _rich_text(value)
        text = value.text or ""
        if kind == "s":
            index = int(text) if text.strip().isdigit() else -1
            return self.strings[index] if 0 <= index < len(self.strings) else ""
        if kind == "b":
            return "TRUE" if text.strip() in ("1", "true") else "FALSE"
        if kind in ("str", "e", "inlineStr"):
            return unescaped(text)
        if kind == "d":
            return text.strip().removesuffix("T00:00:00").replace("T", " ")
        return self._number(text.strip(), cell.get("s") or "0")

    def _number(self, text: str, style: str) -> str:
        if style.isdigit() and int(style) in self.percent_styles:
            try:
                return percent_text(float(text))
            except ValueError:
                return text
        if text.lstrip("-").isdigit() and not (style.isdigit() and int(style) in self.date_styles):
            return text.lstrip("0") or "0" if text[:1] != "-" else text
        try:
            value = float(text)
        except ValueError:
            return text
        form = self.date_styles.get(int(style)) if style.isdigit() else None
        return number_text(value) if form is None else serial_text(value, form, self.is_1904)


def add_comments(package: GuardedZip, sheet: SheetPart, builder: DocumentBuilder) -> None:
    """Comments and the words of text boxes of a sheet, after its cells."""
    from qwen_agentkit.rag.document import NOTE, TEXT
    from qwen_agentkit.rag.parsers.drawingml import chart_title, drawing_text

    links = relationships(package, sheet.part or "")
    for link in links.values():
        if link.external or link.kind not in ("comments", "threadedComment", "drawing"):
            continue
        root = read_xml(package, link.target)
        for element in root.iter() if root is not None else ():
            name = local(element.tag)
            if name in ("comment", "threadedComment"):
                text = " ".join(_rich_text(element).split())
                ref = attribute(element, "ref") or ""
                row = int(re.sub(r"\D", "", ref) or 0)
                if text and not text.startswith("[Threaded comment]"):
                    rows = (row, row) if row else None
                    builder.add(NOTE, f"Comment at {ref}: {text}", sheet=sheet.name, rows=rows)
            elif name == "sp":
                builder.add(TEXT, drawing_text(element), sheet=sheet.name)
        if link.kind == "drawing":
            for chart in relationships(package, link.target).values():
                if chart.kind == "chart" and not chart.external:
                    root = read_xml(package, chart.target)
                    title = chart_title(root) if root is not None else None
                    builder.add(TEXT, f"Chart: {title}" if title else "", sheet=sheet.name)


def _rich_text(element: Any) -> str:
    parts = []
    for node in element.iter():
        if local(node.tag) in ("t", "text") and node.text and not _is_phonetic(node):
            parts.append(node.text)
    return unescaped("".join(parts))


def _is_phonetic(node: Any) -> bool:
    """True inside `rPh`, the reading of Japanese words that a sheet keeps beside them."""
    parent = node.getparent()
    while parent is not None and local(parent.tag) in ("r", "rPh"):
        if local(parent.tag) == "rPh":
            return True
        parent = parent.getparent()
    return False


def unescaped(text: str) -> str:
    """Text with the characters that XML cannot hold, which sheets write as `_x000D_`."""
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text) if "_x" in text else text


def _elements(package: GuardedZip, part: str, name: str) -> Iterator[Any]:
    """Elements of a part by local name, one at a time, dropped from memory after use."""
    from lxml import etree

    with package.open(part) as stream:
        events = etree.iterparse(
            stream, tag=f"{{*}}{name}", recover=True, huge_tree=True, resolve_entities=False, no_network=True
        )
        try:
            for _, element in events:
                yield element
                element.clear()
                parent = element.getparent()
                while parent is not None and (before := element.getprevious()) is not None:
                    parent.remove(before)
        except etree.XMLSyntaxError as error:
            raise DamagedFile(exception=error, message=f"{part} is broken XML ({error})") from error
