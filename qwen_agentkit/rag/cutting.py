"""Cutting what is too large for a chunk: at sentences, clauses, lines and rows, and by length where there is none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from qwen_agentkit.rag.document import CODE, TABLE
from qwen_agentkit.utils.text.sentences import split_sentences
from qwen_agentkit.utils.tokenization_qwen import count_tokens

# A table header larger than this share of a chunk is not repeated.
_HEADER_SHARE = 0.4
CHARACTERS_PER_TOKEN = 16
"""No token of text is longer than this on average; longer texts are over any limit without being counted."""

_CLAUSE_END = re.compile(r"[,，、;；:：]+[\"'”’」』）)]*\s*|\n+")
# The rule line under the header of a Markdown table.
_RULE = re.compile(r"\|(?: ?:?-{3,}:? ?\|)+")


@dataclass(slots=True)
class Piece:
    """A stretch of the text that is not cut further unless it must be."""

    start: int
    end: int
    tokens: int
    kind: str
    page: int | None
    sheet: str | None
    rows: tuple[int, int] | None
    section: str | None
    header: str = ""  # of the table that it continues
    new_block: bool = True
    overlap: bool = False


class Cutter:
    """Cuts pieces of one text.

    Args:
        text: The stored text of the document.
        limit: The most tokens of a chunk.
    """

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit = text, limit

    def count(self, start: int, end: int) -> int:
        """Tokens of a stretch; of a very long one only that it is over the limit."""
        if end - start > CHARACTERS_PER_TOKEN * self.limit:
            return self.limit + (end - start) // CHARACTERS_PER_TOKEN
        return count_tokens(self.text[start:end])

    def cut(self, piece: Piece, room: int) -> list[Piece]:
        """Smaller pieces of one that is too large, each of at most `room` tokens."""
        if piece.kind == TABLE:
            return self._cut_table(piece, room)
        if piece.kind == CODE:
            spans = _line_spans(self.text, piece.start, piece.end)
        else:
            spans = [
                (piece.start + start, piece.start + end)
                for start, end in split_sentences(self.text[piece.start : piece.end])
            ]
        if len(spans) <= 1:
            spans = [(piece.start, piece.end)]
        return self._pieces_of(piece, spans, room)

    def _pieces_of(self, piece: Piece, spans: Sequence[tuple[int, int]], room: int) -> list[Piece]:
        parts: list[Piece] = []
        for start, end in spans:
            tokens = self.count(start, end)
            within = [(start, end, tokens)] if tokens <= room else self._clauses(start, end, room)
            for first, last, count in within:
                new_block = not parts and piece.new_block
                parts.append(replace(piece, start=first, end=last, tokens=count, new_block=new_block))
        return parts

    def _clauses(self, start: int, end: int, room: int) -> Iterator[tuple[int, int, int]]:
        """A sentence that is too long, at its commas; what has none, by length."""
        begin, tokens = start, 0
        position = start
        ends = [match.end() for match in _CLAUSE_END.finditer(self.text, start, end)]
        for stop in [*ends, end]:
            if stop <= position:
                continue
            count = self.count(position, stop)
            if tokens + count <= room:
                tokens += count
            else:
                yield from self._if_any(begin, position, tokens)
                begin, tokens = position, count
                if count > room:
                    yield from self._by_length(position, stop, room)
                    begin, tokens = stop, 0
            position = stop
        yield from self._if_any(begin, end, tokens)

    def _if_any(self, start: int, end: int, tokens: int) -> Iterator[tuple[int, int, int]]:
        start, end = trimmed(self.text, start, end)
        if start < end:
            yield start, end, tokens

    def _by_length(self, start: int, end: int, room: int) -> Iterator[tuple[int, int, int]]:
        """Text without any mark, in stretches of at most `room` tokens; at a space where there is one near."""
        width = room * 2
        while start < end:
            stop = min(start + width, end)
            tokens = count_tokens(self.text[start:stop])
            while tokens > room and stop - start > 1:
                shorter = max(1, int((stop - start) * room / tokens * 0.98))
                stop = start + min(shorter, stop - start - 1)
                tokens = count_tokens(self.text[start:stop])
            if stop < end:
                width = max(int((stop - start) * room / max(tokens, 1)), 1)
                stop = _good_end(self.text, start, stop)
            yield from self._if_any(start, stop, tokens)
            start = stop

    def _cut_table(self, piece: Piece, room: int) -> list[Piece]:
        """Rows of a table, as many as fit with its header before them."""
        lines = _line_spans(self.text, piece.start, piece.end)
        head = 2 if len(lines) > 1 and _RULE.fullmatch(self.text[lines[1][0] : lines[1][1]].strip()) else 0
        header = self.text[lines[0][0] : lines[head - 1][1]] if head else ""
        header_tokens = count_tokens(header) + 1 if head else 0
        if header_tokens > _HEADER_SHARE * room or piece.header:
            header, header_tokens = piece.header, 0
        counts = [self.count(start, end) for start, end in lines]
        row_of_line = _rows_of_lines(piece, len(lines), head)
        parts: list[Piece] = []
        first = 0
        while first < len(lines):
            # The first piece has the header in its own text.
            used = header_tokens if first else 0
            last = first
            while last < len(lines) and used + counts[last] + 1 <= room:
                used += counts[last] + 1
                last += 1
            if last == first:
                parts.extend(self._cut_row(piece, lines[first], row_of_line(first, first + 1), room))
                last = first + 1
            else:
                parts.append(
                    replace(
                        piece,
                        start=lines[first][0],
                        end=lines[last - 1][1],
                        tokens=used,
                        rows=row_of_line(first, last),
                        header=header if first >= max(head, 1) else piece.header,
                        new_block=first == 0,
                    )
                )
            first = last
        return parts

    def _cut_row(self, piece: Piece, span: tuple[int, int], rows: tuple[int, int] | None, room: int) -> list[Piece]:
        """A row that is too long for a chunk, cut like a sentence."""
        row = replace(piece, rows=rows, header="", new_block=False)
        return self._pieces_of(row, [span], room)


def _rows_of_lines(piece: Piece, lines: int, head: int) -> Callable[[int, int], tuple[int, int] | None]:
    """Tells which rows of the sheet the lines from `first` to before `last` stand for."""
    rows = piece.rows
    rules = 1 if head else 0

    def rows_between(first: int, last: int) -> tuple[int, int] | None:
        if rows is None or rows[1] - rows[0] + 1 != lines - rules:
            return rows
        # The rule line after the first line stands for no row.
        start = max(first - rules, 0) if first else 0
        end = max(last - rules, 1)
        return rows[0] + start, rows[0] + max(end - 1, start)

    return rows_between


def _line_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans = []
    position = start
    while position < end:
        stop = text.find("\n", position, end)
        stop = end if stop < 0 else stop
        if text[position:stop].strip():
            spans.append((position, stop))
        position = stop + 1
    return spans or [(start, end)]


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blank space around it; the indent of a first line is kept."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start] in "\r\n":
        start += 1
    return start, end


def _good_end(text: str, start: int, stop: int) -> int:
    """`stop`, or a little before it: after a space, and never within a character that is made of several."""
    space = max(text.rfind(" ", start, stop), text.rfind("\t", start, stop))
    if space > start + (stop - start) * 3 // 4:
        return space + 1
    for place in range(stop, max(start, stop - 16), -1):
        if not _joins_before(text[place]) and text[place - 1] != "\u200d":
            return place
    return stop


def _joins_before(character: str) -> bool:
    """The character changes the one before it: accents, variation selectors, skin tones, joiners."""
    return (
        unicodedata.combining(character) != 0
        or character in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
