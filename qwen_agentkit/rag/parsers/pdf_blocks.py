"""Blocks of a document from the rows of a page: headings, paragraphs, list items, tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from qwen_agentkit.rag.document import CODE, HEADING, LIST_ITEM, NOTE, TABLE, TEXT
from qwen_agentkit.rag.markdown_table import markdown_table
from qwen_agentkit.rag.parsers.pdf_columns import Item, reading_order
from qwen_agentkit.rag.parsers.pdf_lines import Row, Segment, TableBox, join_lines, rows_of, segments_of
from qwen_agentkit.rag.parsers.pdf_page import PageContent, Word, has_cjk
from qwen_agentkit.rag.parsers.pdf_tables import has_leaders, take_ruled_tables, with_aligned_tables

# A line this much larger than the body is a heading.
HEADING_RATIO = 1.13
MAX_HEADING_CHARACTERS = 200
MAX_BOLD_HEADING_CHARACTERS = 100
MAX_LEVEL = 6
# A page with less text has no running header or footer to be left out.
MIN_PAGE_CHARACTERS = 300

_LIST_MARKER = re.compile(
    r"(?:[•▪◦‣●○■□➢✓\uf0b7\uf0a7]\s*|(?:[·*–—-]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])\s+"
    r"|[(（]?[一二三四五六七八九十]{1,3}[)）、]\s*|\d{1,2}、\s*)(?=\S)"
)
_BULLET = re.compile(r"[•·▪◦‣●○■□➢✓\uf0b7\uf0a7\u2022]\s*")
_SENTENCE_END = re.compile(r"[.!?。！？；;:：]['\"”’)）]*$")

Add = Callable[..., None]


@dataclass
class Style:
    """What the type sizes of the document mean.

    Args:
        body: Size of most of its text.
        heading_sizes: Larger sizes, largest first.
        outline: Titles of the document's own outline by page: normalised title -> level.
        mono: Most of the text is in a typewriter font, which then does not mean program text.
    """

    body: float = 10.0
    heading_sizes: list[float] = field(default_factory=list)
    outline: dict[int, dict[str, int]] = field(default_factory=dict)
    mono: bool = False

    def level(self, text: str, size: float, bold: bool, page: int) -> int | None:
        """Level of a line as a heading, None when it is none by its looks."""
        known = self.outline.get(page, {}).get(normal_title(text))
        if known is not None:
            return min(known, MAX_LEVEL)
        if has_leaders(text):
            return None
        if size >= HEADING_RATIO * self.body:
            if len(text) > MAX_HEADING_CHARACTERS:
                return None
            rank = sum(1 for larger in self.heading_sizes if larger > size + 0.3)
            return min(rank + 1, MAX_LEVEL)
        if bold and size >= 0.95 * self.body and len(text) <= MAX_BOLD_HEADING_CHARACTERS:
            if _SENTENCE_END.search(text) or not any(character.isalpha() for character in text):
                return None
            return min(len(self.heading_sizes) + 1, MAX_LEVEL)
        return None


def normal_title(text: str) -> str:
    """A title for comparison: no spaces, one case."""
    return "".join(text.split()).casefold()


def style_of(pages: Iterable[PageContent], outline: dict[int, dict[str, int]]) -> Style:
    """Body and heading sizes of a sample of pages."""
    weights: Counter[float] = Counter()
    mono = 0
    for page in pages:
        for word in page.words:
            weights[round(word.size * 2) / 2] += len(word.text)
            mono += len(word.text) * word.mono
    if not weights:
        return Style(outline=outline)
    body = max(weights, key=lambda size: weights[size])
    larger = sorted((size for size in weights if size >= HEADING_RATIO * body), reverse=True)
    sizes: list[float] = []
    for size in larger:
        if not sizes or sizes[-1] - size > 0.6:
            sizes.append(size)
    return Style(body, sizes, outline, mono * 2 > weights.total())


def add_page(
    content: PageContent,
    style: Style,
    add: Add,
    running: Callable[[str], bool | None],
    tables: Sequence[TableBox] | None = None,
) -> None:
    """Adds the blocks of one page.

    Args:
        content: The page; words of tables are taken out of it.
        style: Of the document.
        add: `DocumentBuilder.add`.
        running: Asked for lines at the upper and lower edge: None is ordinary text, True a running header or
            footer not seen so far (added as a note), False one that was added before.
        tables: The tables of the page, whose words are no longer among its words; None has them found here.
    """
    page = content.number
    if content.vertical or content.is_right_to_left():
        _add_plain(content, add)
    else:
        _take_running_lines(content, add, running)
        if tables is None:
            tables = take_ruled_tables(content)
        known = {word.text.strip(".,;:!?()").lower() for word in content.words if "-" in word.text[1:-1]}
        items: list[Item] = [*segments_of(content.words), *tables]
        columns: list[list[_Found]] = []
        for part in reading_order(items):
            columns.append([])
            _read_flow(part, style, page, known, columns[-1])
        for found in _joined_columns(columns, known):
            add(found.kind, found.text, level=found.level, page=page)
    for line in [*content.aside, *content.notes]:
        add(NOTE, line, page=page)


@dataclass(slots=True)
class _Found:
    """A block of a column, before columns are joined."""

    kind: str
    text: str
    level: int | None = None


def _joined_columns(columns: Sequence[Sequence[_Found]], known: set[str]) -> list[_Found]:
    """The blocks of all columns; a sentence that goes on at the top of the next column is one block again."""
    result: list[_Found] = []
    for column in columns:
        blocks = list(column)
        if result and blocks and result[-1].kind in (TEXT, LIST_ITEM) and blocks[0].kind == TEXT:
            before, after = result[-1].text, blocks[0].text
            goes_on = after[0].islower() or (has_cjk(before[-1]) and has_cjk(after[0])) or before[-1] == "-"
            if goes_on and not _SENTENCE_END.search(before):
                result[-1] = _Found(result[-1].kind, join_lines([before, after], known))
                del blocks[0]
        result.extend(blocks)
    return result


def _take_running_lines(content: PageContent, add: Add, running: Callable[[str], bool | None]) -> None:
    edge = edge_words(content)
    if not edge or content.characters() < MIN_PAGE_CHARACTERS:
        return  # what stands alone on a page is its content
    top = min(word.y0 for word in content.words)
    bottom = max(word.y1 for word in content.words)
    gone: set[int] = set()
    for row in rows_of(segments_of(edge)):
        if row.y0 - top > 2.5 * row.size and bottom - row.y1 > 2.5 * row.size:
            continue
        verdict = running(row.text)
        if verdict is None:
            continue
        gone.update(id(word) for segment in row.segments for word in segment.words)
        if verdict:
            add(NOTE, row.text, page=content.number)
    if gone:
        content.words = [word for word in content.words if id(word) not in gone]


def edge_words(content: PageContent) -> list[Word]:
    """Words in the strips at the top and the bottom where running headers and footers stand."""
    top, bottom = 0.12 * content.height, 0.88 * content.height
    return [word for word in content.words if word.y1 < top or word.y0 > bottom]


def _add_plain(content: PageContent, add: Add) -> None:
    """The engine's own order of lines; a wide step between lines starts a paragraph."""
    lines: list[str] = []
    previous: Segment | None = None

    def close() -> None:
        if lines:
            add(TEXT, "".join(lines) if content.vertical else "\n".join(lines), page=content.number)
            lines.clear()

    current: list[Segment] = []
    for segment in [*segments_of(content.words), None]:
        if segment is not None and previous is not None and abs(segment.y0 - previous.y0) < 0.5 * previous.size:
            current.append(segment)
            previous = segment
            continue
        if current:
            lines.append(" ".join(item.text for item in current))
        if segment is not None and previous is not None and segment.y0 - previous.y0 > 2.2 * previous.size:
            close()
        current = [segment] if segment is not None else []
        previous = segment
    close()


def _read_flow(part: Sequence[Item], style: Style, page: int, known: set[str], found: list[_Found]) -> None:
    """One column from top to bottom."""
    tables = sorted((item for item in part if isinstance(item, TableBox)), key=lambda item: item.y0)
    rows = rows_of([item for item in part if isinstance(item, Segment)])
    flow: list[Row | TableBox] = []
    for table in tables:
        above = [row for row in rows if (row.y0 + row.y1) / 2 < table.y0]
        flow.extend(with_aligned_tables(above))
        rows = rows[len(above) :]
        flow.append(table)
    flow.extend(with_aligned_tables(rows))
    plain = [item for item in flow if isinstance(item, Row)]
    right = max((row.x1 for row in plain), default=0.0)
    left = min((row.x0 for row in plain), default=0.0)
    leading = _leading(plain)
    _mark_headings(plain, style, page, leading)
    paragraph = _Paragraph(style, known, found)
    previous: Row | None = None
    for item in flow:
        if isinstance(item, TableBox):
            paragraph.close()
            found.append(_Found(TABLE, markdown_table(item.rows)))
            previous = None
            continue
        if previous is not None and paragraph.ends_before(item, previous, leading, left, right):
            paragraph.close()
        paragraph.take(item, left, right)
        previous = item
    paragraph.close()


def _mark_headings(rows: Sequence[Row], style: Style, page: int, leading: float) -> None:
    """Sets the level of the rows that are headings.

    Bold words that run on into a line which ends in plain ones are the beginning of a paragraph, not a heading.
    """
    for row in rows:
        row.level = style.level(row.text, row.size, row.bold, page)
    for row, below in reversed(list(pairwise(rows))):
        follows = 0 < below.y1 - row.y1 <= 1.35 * leading
        runs_on = below.level is None and below.segments[0].words[0].bold
        if row.level is not None and row.bold and row.size < HEADING_RATIO * style.body and follows and runs_on:
            row.level = None


def _leading(rows: Sequence[Row]) -> float:
    """Distance between the lines of a paragraph: the commonest step from row to row."""
    steps = Counter(
        round(2 * (below.y1 - above.y1)) / 2
        for above, below in pairwise(rows)
        if 0 < below.y1 - above.y1 < 3 * above.size
    )
    if not steps:
        return 0.0
    most = max(steps.values())
    return min(step for step, number in steps.items() if number * 2 >= most)


class _Paragraph:
    """Lines that are being gathered into one block."""

    def __init__(self, style: Style, known: set[str], found: list[_Found]) -> None:
        self._style, self._known, self._found = style, known, found
        self._lines: list[str] = []
        self._level: int | None = None
        self._is_item = False
        self._is_code = False
        self._last: Row | None = None
        self._breaks: set[int] = set()
        self._indent = 0.0

    def ends_before(self, row: Row, previous: Row, leading: float, left: float, right: float) -> bool:
        """The row starts a new block."""
        text = row.text
        step = row.y1 - previous.y1
        code = self._reads_as_code(row)
        if code != self._is_code:
            return True
        if code:
            return step > 3.5 * row.size
        if row.level != self._level:
            return True
        if row.level is not None:
            return step > 2.0 * row.size
        if abs(row.size - previous.size) > 0.12 * max(row.size, previous.size):
            return True
        if step > max(1.35 * leading, 1.25 * previous.size) and step > 1.2 * leading:
            return True
        if _LIST_MARKER.match(text) and _is_marker_line(text, row, previous, self._is_item):
            return True
        width = right - left
        short = previous.x1 < right - 0.2 * width
        if short and _SENTENCE_END.search(previous.text) and width > 8 * row.size:
            return True
        if self._is_item and row.x0 < self._indent - 0.5 * row.size:
            # Where only first lines are indented, the item goes on left of its marker.
            return _SENTENCE_END.search(previous.text) is not None or _breaks_line(previous, row, right)
        if self._is_item:
            return False
        indented = row.x0 > left + 0.9 * row.size and previous.x0 <= left + 0.4 * row.size
        return indented and row.x0 < left + 4 * row.size and _SENTENCE_END.search(previous.text) is not None

    def _reads_as_code(self, row: Row) -> bool:
        if self._style.mono or not row.mono:
            return False
        return row.level is None

    def take(self, row: Row, left: float, right: float) -> None:
        """Adds a line of a column that reaches from `left` to `right`."""
        text = row.text.strip()
        if not self._lines:
            self._is_code = self._reads_as_code(row)
        if self._is_code:
            if self._lines and self._last is not None and row.y1 - self._last.y1 > 1.9 * row.size:
                self._lines.append("")
            self._lines.append(code_line(row, left))
            self._last = row
            return
        if not self._lines:
            self._level = row.level
            self._is_item = self._level is None and _LIST_MARKER.match(text) is not None
            self._indent = row.x0
        elif self._last is not None and _breaks_line(self._last, row, right):
            self._breaks.add(len(self._lines))
        self._lines.append(text)
        self._last = row

    def close(self) -> None:
        """Adds the block, if there is one."""
        if not self._lines:
            return
        if self._is_code:
            self._found.append(_Found(CODE, "\n".join(self._lines)))
            self._clear()
            return
        starts = [0, *sorted(self._breaks), len(self._lines)]
        text = "\n".join(join_lines(self._lines[start:end], self._known) for start, end in pairwise(starts))
        if self._level is not None:
            self._found.append(_Found(HEADING, " ".join(text.split()), self._level))
        elif self._is_item:
            self._found.append(_Found(LIST_ITEM, _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text))
        else:
            self._found.append(_Found(TEXT, text))
        self._clear()

    def _clear(self) -> None:
        self._lines.clear()
        self._breaks.clear()
        self._level = None
        self._last = None
        self._is_item = self._is_code = False


def _breaks_line(above: Row, row: Row, right: float) -> bool:
    """The line above was ended on purpose: the first word of this row would have fitted there."""
    word = row.segments[0].words[0]
    width = row.size if has_cjk(word.text[0]) else word.x1 - word.x0
    last = above.segments[-1].words[-1].text
    return not last.endswith("-") and right - above.x1 > width + 1.5 * row.size


def code_line(row: Row, left: float) -> str:
    """A line of typewriter text with its indent and its gaps, one space a character width."""
    words = [word for segment in row.segments for word in segment.words]
    longest = max(words, key=lambda word: len(word.text))
    width = (longest.x1 - longest.x0) / len(longest.text) or 1.0
    line = ""
    for word in words:
        column = min(round((word.x0 - left) / width), len(line) + 80)
        line += " " * max(column - len(line), 1 if line else 0) + word.text
    return line


def _is_marker_line(text: str, row: Row, previous: Row, in_list: bool) -> bool:
    """A number or letter at the start of a line is a marker only where lists have theirs.

    A line of running text may begin with "a) " or "3." by chance of the line break.
    """
    if _BULLET.match(text) or in_list:
        return True
    return _SENTENCE_END.search(previous.text) is not None or row.x0 > previous.x0 + 0.8 * row.size or has_cjk(text)
