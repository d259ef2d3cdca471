r"""RTF (Rich Text Format 1.9.1): one pass over its control words, with a stack of what each group sets.

An own reader and not a library: those at hand give running text, and lose tables, headings, notes, and the
characters of East Asian fonts whose second byte is a plain letter.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from qwen_agentkit.errors import DamagedFile
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.grid import Cell, lay_out
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.markdown_table import markdown_table, without_blank_edges
from qwen_agentkit.rag.parsers.media import keep_image
from qwen_agentkit.rag.parsers.rtf_words import CHARACTERS, CHARSETS, CODE_PAGES, IGNORED, STARRED_TEXT, SYMBOLS

_TOKEN = re.compile(
    r"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.|\n|\r)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_HEADING = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_BULLETS = frozenset("·•▪●○■□-–—*o§Øv")
_NOTES = {"footnote": "Footnote", "annotation": "Comment"}
_EDGES = {"header": "Header", "footer": "Footer"}
_MAX_GROUPS = 5_000


@dataclass
class _Group:
    """What a group has set; a copy is made at each `{`."""

    into: str = (
        "body"  # body, footnote, annotation, header, footer, marker, info, title, author, fonts, styles, picture, none
    )
    code_page: str = "cp1252"
    unicode_skip: int = 1
    deleted: bool = False
    starred: bool = False


@dataclass
class _Paragraph:
    """What has been read of the paragraph at hand, and what it is."""

    text: list[str] = field(default_factory=list)
    marker: list[str] = field(default_factory=list)
    style: int | None = None
    outline: int | None = None
    level: int = 0
    in_table: bool = False


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads an RTF document into the builder.

    Args:
        path: The file.
        builder: Takes the blocks; foot notes and comments follow the paragraph that they belong to.
        options: `keep_images` keeps PNG and JPEG pictures, `limits` bound the text.

    Raises:
        DamagedFile: It is no RTF.
        LimitExceededInFile: Too much text; what was read before is in the builder.
    """
    data = path.read_bytes()
    start = data.find(b"{\\rtf")
    if start < 0:
        raise DamagedFile(message="the file does not begin as RTF does ({\\rtf)")
    _Reader(builder, options).read(data[start:].decode("latin-1"))


class _Reader:
    """State of one reading."""

    def __init__(self, builder: DocumentBuilder, options: ReadOptions) -> None:
        self.builder = builder
        self.options = options
        self.group = _Group()
        self.stack: list[_Group] = []
        self.here = _Paragraph()
        self.outer: list[_Paragraph] = []  # paragraphs that a note or header interrupts
        self.notes: list[str] = []
        self.author = ""
        self.fonts: dict[int, str] = {}
        self.font = 0
        self.styles: dict[int, list[str]] = {}
        self.style_levels: dict[int, int] = {}
        self.default_page = "cp1252"
        self.decoder: codecs.IncrementalDecoder | None = None
        self.decoder_page = ""
        self.to_skip = 0
        self.cells: list[str] = []
        self.definition: list[tuple[str, str]] = []
        self.merging = ("", "")
        self.rows: list[tuple[list[str], list[tuple[str, str]]]] = []
        self.edges: set[str] = set()
        self.picture: list[str] = []

    def read(self, text: str) -> None:
        """The whole pass."""
        position, opened = 0, -1
        while match := _TOKEN.match(text, position):
            position = match.end()
            word, number, byte, symbol, brace, plain = match.groups()
            if plain is not None:
                self._plain(plain)
            elif byte is not None:
                self._byte(int(byte, 16))
            elif word is not None:
                if word == "bin":
                    position += max(0, int(number or 0))
                    continue
                self._end_of_bytes()
                self._word(word, int(number) if number is not None else None)
            elif symbol is not None:
                self._end_of_bytes()
                if symbol == "*":
                    self.group.starred = opened == match.start()  # only the first word of a group marks it
                elif symbol in "\n\r":
                    self._word("par", None)
                else:
                    self._put(SYMBOLS.get(symbol, symbol))
            elif brace == "{":
                self._end_of_bytes()
                self._open()
                opened = position
            elif brace == "}":
                self._end_of_bytes()
                self._close()
        self._end_of_bytes()
        while self.stack:
            self._close()
        self._end_row()
        self.here.in_table = False
        self._end_paragraph()
        self._end_table()

    # Groups

    def _open(self) -> None:
        self.to_skip = 0
        if len(self.stack) < _MAX_GROUPS:
            self.stack.append(self.group)
            self.group = replace(self.group, starred=False)

    def _close(self) -> None:
        self.to_skip = 0
        if not self.stack:
            return
        closed, self.group = self.group, self.stack.pop()
        if closed.into == self.group.into:
            return
        if closed.into in _NOTES or closed.into in _EDGES:
            inner = self.here
            self.here = self.outer.pop() if self.outer else _Paragraph()
            words = " ".join("".join(inner.text).split())
            if closed.into in _NOTES and words:
                by = f" by {self.author.strip()}" if closed.into == "annotation" and self.author.strip() else ""
                self.notes.append(f"{_NOTES[closed.into]}{by}: {words}")
                self.author = ""
            elif words and words not in self.edges:
                self.edges.add(words)
                self.builder.add(NOTE, f"{_EDGES[closed.into]}: {words}")
        elif closed.into == "picture":
            self._end_picture()
        elif closed.into == "styles":
            self._name_styles()

    def _enter(self, into: str) -> None:
        if into in _NOTES or into in _EDGES:
            if self.group.into in _NOTES or self.group.into in _EDGES:
                return
            self.outer.append(self.here)
            self.here = _Paragraph()
        self.group.into = into

    # Control words

    def _word(self, word: str, number: int | None) -> None:
        group = self.group
        if group.starred and word not in STARRED_TEXT:
            group.into, group.starred = "none", False
            return
        group.starred = False
        if word == "u" and number is not None:
            self._put(chr(number & 0xFFFF))
            self.to_skip = group.unicode_skip
        elif word == "uc":
            group.unicode_skip = max(0, min(number or 0, 100))
        elif word == "fonttbl":
            group.into = "fonts"
        elif word == "stylesheet":
            group.into = "styles"
        elif word == "pict":
            group.into = "picture" if self.options.keep_images and group.into == "body" else "none"
        elif word in IGNORED:
            group.into = "none"
        elif word == "ansicpg":
            self.default_page = group.code_page = _code_page(number)
        elif word in ("mac", "pc", "pca"):
            self.default_page = group.code_page = {"mac": "mac-roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "deff":
            self.font = number or 0
        elif word == "f":
            self.font = number or 0
            if group.into != "fonts":
                group.code_page = self.fonts.get(self.font, self.default_page)
        elif word in ("fcharset", "cpg"):
            page = CHARSETS.get(number or 0) if word == "fcharset" else _code_page(number)
            if page is not None:
                self.fonts[self.font] = page
        elif group.into == "styles":
            self._style_word(word, number)
        elif word == "plain":
            group.code_page, group.deleted = self.fonts.get(0, self.default_page), False
        elif word == "deleted":
            group.deleted = number != 0
        elif word in _NOTES:
            self._enter(word)
        elif word.startswith(("header", "footer")) and word[6:] in ("", "l", "r", "f"):
            self._enter(word[:6])
        elif word == "atnauthor":
            group.into = "author"
        elif word in ("listtext", "pntext"):
            group.into = "marker" if group.into == "body" else group.into
        elif word == "info":
            group.into = "info"
        elif word == "title" and group.into == "info":
            group.into = "title"
        elif word == "ud" and group.into == "info":
            self.builder.title = None  # the same again in Unicode follows
        else:
            self._layout_word(word, number)

    def _layout_word(self, word: str, number: int | None) -> None:
        """Words of paragraphs and tables, which mean something in the body only."""
        if self.group.into != "body":
            if word in CHARACTERS:
                self._put(CHARACTERS[word])
            return
        here = self.here
        if word in ("par", "sect"):
            self._end_paragraph()
        elif word == "pard":
            here.style = here.outline = None
            here.level, here.in_table = 0, False
        elif word == "s":
            here.style = number
        elif word == "outlinelevel":
            here.outline = number
        elif word == "ilvl":
            here.level = max(0, min(number or 0, 8))
        elif word == "intbl":
            here.in_table = True
        elif word == "cell":
            self.cells.append(" ".join(" ".join(["".join(here.marker), "".join(here.text)]).split()))
            here.text, here.marker = [], []
        elif word == "nestcell":
            self._put(", ")
        elif word == "nestrow":
            self._put("; ")
        elif word == "trowd":
            self.definition, self.merging = [], ("", "")
        elif word in ("clmgf", "clmrg"):
            self.merging = (word, self.merging[1])
        elif word in ("clvmgf", "clvmrg"):
            self.merging = (self.merging[0], word)
        elif word == "cellx":
            self.definition.append(self.merging)
            self.merging = ("", "")
        elif word == "row":
            self._end_row()
        elif word in CHARACTERS:
            self._put(CHARACTERS[word])

    def _style_word(self, word: str, number: int | None) -> None:
        if word == "s" and number is not None:
            self.styles.setdefault(number, [])
        elif word == "outlinelevel" and self.styles:
            self.style_levels[next(reversed(self.styles))] = (number or 0) + 1

    def _name_styles(self) -> None:
        for key, words in self.styles.items():
            match = _HEADING.match("".join(words).strip())
            if match:
                self.style_levels[key] = int(match.group(1))
            elif "".join(words).strip(" ;").lower() == "title":
                self.style_levels[key] = 1

    # Text

    def _plain(self, text: str) -> None:
        if self.to_skip:
            text, self.to_skip = text[self.to_skip :], max(0, self.to_skip - len(text))
        if not text:
            return
        if text.isascii() and self.decoder is None:
            self._put(text)
        else:
            self._bytes(text.encode("latin-1"))

    def _byte(self, value: int) -> None:
        if self.to_skip:
            self.to_skip -= 1
        else:
            self._bytes(bytes([value]))

    def _bytes(self, data: bytes) -> None:
        page = self.group.code_page
        if page == "symbol":
            self._put("".join("•" if byte == 0xB7 else chr(byte) for byte in data))
            return
        if self.decoder is None or self.decoder_page != page:
            self._end_of_bytes()
            self.decoder, self.decoder_page = codecs.getincrementaldecoder(page)("replace"), page
        self._put(self.decoder.decode(data))

    def _end_of_bytes(self) -> None:
        if self.decoder is not None:
            rest = self.decoder.decode(b"", final=True)
            self.decoder = None
            self._put(rest)

    def _put(self, text: str) -> None:
        into = self.group.into
        if not text or into in ("none", "fonts", "info") or self.group.deleted:
            return
        if into == "body" or into in _NOTES or into in _EDGES:
            self.here.text.append(text)
        elif into == "marker":
            self.here.marker.append(text)
        elif into == "styles" and self.styles:
            self.styles[next(reversed(self.styles))].append(text)
        elif into == "title":
            self.builder.title = (self.builder.title or "") + text
        elif into == "author":
            self.author += text
        elif into == "picture":
            self.picture.append(text)

    # Blocks

    def _end_paragraph(self) -> None:
        here = self.here
        if here.in_table:
            here.text.append("\n")  # a paragraph inside a cell
            return
        text = "\n".join(line.rstrip() for line in "".join(here.text).split("\n")).strip()
        marker = "".join(here.marker).strip()
        here.text, here.marker = [], []
        if text:
            self._end_table()
            level = here.outline + 1 if here.outline is not None and here.outline < 9 else None
            level = level or self.style_levels.get(here.style if here.style is not None else -1)
            if level is not None and level < 10:
                self.builder.add(HEADING, f"{marker} {text}".strip(), level=level)
            elif marker:
                marker = "-" if marker in _BULLETS or (len(marker) == 1 and not marker.isalnum()) else marker
                self.builder.add(LIST_ITEM, "  " * here.level + f"{marker} {text}")
            else:
                self.builder.add(TEXT, text)
        self._write_notes()

    def _end_row(self) -> None:
        if self.here.in_table and any(not text.isspace() for text in self.here.text):
            self._layout_word("cell", None)  # the row's last cell has no end of its own
        if self.cells:
            self.rows.append((self.cells, self.definition))
            self.cells = []

    def _end_table(self) -> None:
        self._end_row()
        rows, self.rows = self.rows, []
        if not rows:
            return
        grid: list[list[Cell]] = []
        for cells, definition in rows:
            line: list[Cell] = []
            for place, text in enumerate(cells):
                sideways, downwards = definition[place] if place < len(definition) else ("", "")
                if sideways == "clmrg" and line:
                    line[-1] = Cell(line[-1].text, line[-1].columns + 1)
                    continue
                if downwards == "clvmrg" and not text and grid and place < len(grid[-1]):
                    text = grid[-1][place].text
                line.append(Cell(text))
            grid.append(line)
        self.builder.add(TABLE, markdown_table(without_blank_edges(lay_out(grid))))
        self._write_notes()

    def _write_notes(self) -> None:
        notes, self.notes = self.notes, []
        for note in notes:
            self.builder.add(NOTE, note)

    def _end_picture(self) -> None:
        digits, self.picture = "".join(self.picture), []
        try:
            keep_image(self.builder, bytes.fromhex("".join(digits.split())))
        except ValueError:
            self.builder.warn("a picture could not be read")


def _code_page(number: int | None) -> str:
    name = CODE_PAGES.get(number or 0, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
