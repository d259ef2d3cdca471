"""Words of a page put together: segments (words without a wide gap), rows of them, and lines joined to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from qwen_agentkit.rag.parsers.pdf_page import Word, joins_unspaced

# A gap wider than this many font sizes parts what stands beside each other.
WIDE_GAP = 1.0


@dataclass
class Segment:
    """Words of one line without a wide gap between them; what is read of it is worked out once, when it is whole."""

    words: list[Word]
    x0: float
    y0: float
    x1: float
    y1: float

    @cached_property
    def text(self) -> str:
        return join_words(self.words)

    @cached_property
    def size(self) -> float:
        """Font size of most of its characters."""
        if len(self.words) == 1:
            return self.words[0].size
        return max(self.words, key=lambda word: len(word.text)).size

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)


@dataclass(slots=True)
class TableBox:
    """A table found on the page and where it stands; `rows` are cells of text."""

    rows: list[list[str]]
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass
class Row:
    """What stands on one line of one column, left to right; `level` is set where it is a heading.

    As with a segment, what is read of it is worked out once.
    """

    segments: list[Segment] = field(default_factory=list)
    y0: float = 0.0
    y1: float = 0.0
    level: int | None = None

    @property
    def x0(self) -> float:
        return self.segments[0].x0

    @property
    def x1(self) -> float:
        return self.segments[-1].x1

    @cached_property
    def text(self) -> str:
        return join_words([word for segment in self.segments for word in segment.words])

    @cached_property
    def size(self) -> float:
        return max(self.segments, key=lambda segment: segment.x1 - segment.x0).size

    @property
    def bold(self) -> bool:
        return all(segment.bold for segment in self.segments)

    @property
    def mono(self) -> bool:
        return all(word.mono for segment in self.segments for word in segment.words)


def same_line(a0: float, a1: float, b0: float, b1: float) -> bool:
    """Two upright extents overlap by more than half of the smaller one."""
    return min(a1, b1) - max(a0, b0) > 0.5 * min(a1 - a0, b1 - b0)


def segments_of(words: Iterable[Word]) -> list[Segment]:
    """Segments in the order of the words."""
    result: list[Segment] = []
    current: Segment | None = None
    last: Word | None = None
    for word in words:
        if current is not None and last is not None:
            size = word.size if word.size > last.size else last.size
            gap = word.x0 - last.x1
            if -0.6 * size < gap < WIDE_GAP * size and same_line(current.y0, current.y1, word.y0, word.y1):
                current.words.append(word)
                current.x0, current.x1 = min(current.x0, word.x0), max(current.x1, word.x1)
                if word.size >= 0.8 * current.words[0].size:  # a raised or lowered index does not stretch the line
                    current.y0, current.y1 = min(current.y0, word.y0), max(current.y1, word.y1)
                last = word
                continue
        current = Segment([word], word.x0, word.y0, word.x1, word.y1)
        result.append(current)
        last = word
    return result


def rows_of(segments: Sequence[Segment]) -> list[Row]:
    """Rows from top to bottom, segments from left to right."""
    rows: list[Row] = []
    for segment in sorted(segments, key=lambda item: (item.y0 + item.y1, item.x0)):
        for row in reversed(rows[-3:]):
            if same_line(row.y0, row.y1, segment.y0, segment.y1):
                row.segments.append(segment)
                break
        else:
            rows.append(Row([segment], segment.y0, segment.y1))
    for row in rows:
        row.segments.sort(key=lambda item: item.x0)
        row.y0 = min(segment.y0 for segment in row.segments)
        row.y1 = max(segment.y1 for segment in row.segments)
    return rows


def join_words(words: Sequence[Word]) -> str:
    """Words of one line with spaces between; Chinese and Japanese that touch stay together."""
    if len(words) == 1:
        return words[0].text
    parts: list[str] = []
    previous: Word | None = None
    for word in words:
        if previous is not None:
            touching = word.x0 - previous.x1 < 0.2 * max(word.size, previous.size)
            if not (touching and joins_unspaced(previous.text, word.text)):
                parts.append(" ")
        parts.append(word.text)
        previous = word
    return "".join(parts)


def join_lines(lines: Sequence[str], known: frozenset[str] | set[str] = frozenset()) -> str:
    """Lines of one paragraph as running text.

    A word broken by a hyphen is closed up, unless the hyphenated form stands elsewhere on the page.

    Args:
        lines: The lines, stripped.
        known: Words of the page as written, in lower case.
    """
    if not lines:
        return ""
    text = lines[0]
    for line in lines[1:]:
        if not line:
            continue
        if not text:
            text = line
        elif text[-1] == "-" and len(text) > 2 and text[-2].isalpha() and line[0].islower():
            head = text.rsplit(None, 1)[-1]
            tail = line.split(None, 1)[0]
            keep = "-" in head[:-1] or (head + tail).strip(".,;:!?()").lower() in known
            text = (text if keep else text[:-1]) + line
        elif joins_unspaced(text, line):
            text += line
        else:
            text += " " + line
    return text
