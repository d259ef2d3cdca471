"""Chunks: the passages of a document that are indexed, found and cited.

Structure decides first where to cut: headings, sheets and pages, then blocks, sentences, clauses, and only what has
none of these is cut by length. A chunk never has more tokens than asked for. Its place is a range of characters of
`Document.text`, so that a quote can be proved against the stored text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from qwen_agentkit.rag.cutting import CHARACTERS_PER_TOKEN, Cutter, Piece, trimmed
from qwen_agentkit.rag.document import HEADING, LIST_ITEM, TABLE, TEXT, Document
from qwen_agentkit.utils.text.folding import UNSPACED
from qwen_agentkit.utils.text.sentences import split_sentences
from qwen_agentkit.utils.tokenization_qwen import count_tokens

MIN_CHUNK_TOKENS = 8
"""The smallest chunk size: one character may be four tokens."""

# Part of cache keys: raised when the same document is cut otherwise.
CHUNKER_VERSION = "1"

# A chunk at least this full is closed rather than have a paragraph cut to fill it.
_FULL_ENOUGH = 0.6
# What is no longer than this before a heading is a page number and no passage of its own.
_PAGE_NUMBER_LENGTH = 6

_UNSPACED_PAIR = re.compile(f"[{UNSPACED}]{{2}}")
_SENTENCE_END = re.compile(r"[.!?。！？；;…:：][\"'”’」』）)\]]*\s*$")


@dataclass(slots=True)
class Chunk:
    """A passage of a document.

    Args:
        source: Of the document.
        title: Of the document.
        text: The passage, `document.text[start:end]`; where it continues a table, the table's header stands before.
        page: First page or slide, 1-based, None where there are none.
        page_end: Last page or slide; equal to `page` in most chunks.
        sheet: Sheet of a spreadsheet.
        rows: First and last row of the sheet.
        section: Headings above it, joined by " > ".
        start: Offset of its first character in `document.text`.
        end: Offset after its last character.
        tokens: Tokens of `text`.
        number: Its place in the document, from 0.
    """

    source: str
    title: str
    text: str
    page: int | None
    page_end: int | None
    sheet: str | None
    rows: tuple[int, int] | None
    section: str | None
    start: int
    end: int
    tokens: int
    number: int

    def to_json(self) -> dict[str, Any]:
        """The chunk as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Chunk:
        """The chunk that `to_json` wrote."""
        rows = data.get("rows")
        return cls(**{**data, "rows": tuple(rows) if rows else None})


def chunk_document(document: Document, chunk_tokens: int = 500, overlap_tokens: int | None = None) -> list[Chunk]:
    """Cuts a document into chunks.

    Args:
        document: The document.
        chunk_tokens: The most tokens of a chunk, repeated table header included.
        overlap_tokens: The most tokens of whole sentences that a chunk repeats from the one before, where running
            text had to be cut; None is a tenth of `chunk_tokens`, and no more than a third is used.

    Returns:
        The chunks in reading order.

    Raises:
        ValueError: `chunk_tokens` is below `MIN_CHUNK_TOKENS`, or `overlap_tokens` is negative.
    """
    if chunk_tokens < MIN_CHUNK_TOKENS:
        raise ValueError(f"chunk_tokens is at least {MIN_CHUNK_TOKENS}; given {chunk_tokens}.")
    if overlap_tokens is None:
        overlap_tokens = chunk_tokens // 10
    if overlap_tokens < 0:
        raise ValueError(f"overlap_tokens is 0 or more; given {overlap_tokens}.")
    return _Chunker(document, chunk_tokens, min(overlap_tokens, chunk_tokens // 3)).run()


class _Chunker:
    """One document while it is cut."""

    def __init__(self, document: Document, limit: int, overlap: int) -> None:
        self.document, self.text, self.limit, self.overlap = document, document.text, limit, overlap
        self.cutter = Cutter(self.text, limit)
        self.chunks: list[Chunk] = []
        self.current: list[Piece] = []
        self.tokens = 0  # of the current pieces, by their own counts
        self.waiting: deque[Piece] = deque()

    def run(self) -> list[Chunk]:
        """All chunks."""
        for piece in self._blocks():
            self.waiting.append(piece)
            while self.waiting:
                self._place(self.waiting.popleft())
        while self.current:
            self._close()
            while self.waiting:
                self._place(self.waiting.popleft())
        return self.chunks

    def _blocks(self) -> Iterator[Piece]:
        document = self.document
        for block, (start, end), section in zip(
            document.blocks, document.block_spans(), document.sections(), strict=True
        ):
            start, end = trimmed(self.text, start, end)
            if start < end:
                tokens = self.cutter.count(start, end)
                yield Piece(start, end, tokens, block.kind, block.page, block.sheet, block.rows, section)

    # --- filling

    def _place(self, piece: Piece) -> None:
        """Puts a piece into the current chunk, or closes that first, or cuts the piece."""
        if self.current and self._must_part(piece):
            self.waiting.appendleft(piece)
            self._close()
            return
        if self.tokens + piece.tokens + 1 <= self.limit or (not self.current and piece.tokens <= self.limit):
            self._take(piece)
            return
        fits_alone = piece.tokens <= self.limit and self._is_full()
        if self.current and (fits_alone or piece.kind == TABLE) and not self._only_headings():
            self.waiting.appendleft(piece)
            self._close(overlap_into=piece)
            return
        # Headings stay with the beginning of what they head.
        room = self.limit - self.tokens - 1
        parts = self.cutter.cut(piece, room if self.current and room * 2 > self.limit else self.limit)
        if len(parts) == 1 and self.current:
            self.waiting.appendleft(piece)
            self._close(overlap_into=piece)
            return
        self.waiting.extendleft(reversed(parts))
        if self.current and self.tokens + parts[0].tokens + 1 > self.limit:
            self._close(overlap_into=parts[0])

    def _must_part(self, piece: Piece) -> bool:
        """The piece begins a section, sheet or page of its own."""
        last = self.current[-1]
        if last.overlap:
            return False
        if piece.header:
            return True
        if piece.sheet != last.sheet:
            return True
        if piece.page == last.page and last.end - self.current[0].start <= _PAGE_NUMBER_LENGTH:
            return False
        if piece.kind == HEADING:
            return last.kind != HEADING or (piece.page != last.page and self._is_full())
        if piece.page != last.page:
            if self._only_headings():
                return False
            return not (
                piece.kind == TEXT
                and last.kind == TEXT
                and self.current[0].page == last.page
                and piece.section == last.section
                and _runs_on(self.text[last.start : last.end], self.text[piece.start : piece.end])
            )
        # What ran over from the page before is done with; the rest of this page stands for itself.
        return self.current[0].page != piece.page and piece.new_block and not self._only_headings()

    def _is_full(self) -> bool:
        return self.tokens >= _FULL_ENOUGH * self.limit

    def _only_headings(self) -> bool:
        return all(piece.kind == HEADING for piece in self.current)

    def _take(self, piece: Piece) -> None:
        self.current.append(piece)
        self.tokens += piece.tokens + 1

    # --- closing

    def _close(self, overlap_into: Piece | None = None) -> None:
        """Makes a chunk of the current pieces; what turns out to be too much waits for the next."""
        pieces = self.current
        self.current, self.tokens = [], 0
        while True:
            text = self._text_of(pieces)
            tokens = count_tokens(text)
            if tokens <= self.limit:
                break
            if pieces[0].overlap and len(pieces) > 1:
                pieces = pieces[1:]
            elif len(pieces) > 1:
                self.waiting.appendleft(pieces[-1])
                overlap_into = None
                pieces = pieces[:-1]
            elif pieces[0].header:
                pieces = [replace(pieces[0], header="")]
            else:
                parts = self.cutter.cut(replace(pieces[0], tokens=self.limit + 1), self.limit * 3 // 4)
                self.waiting.extendleft(reversed(parts[1:]))
                overlap_into = None
                pieces = parts[:1]
        self._emit(pieces, text, tokens)
        if overlap_into is not None and self.overlap:
            self._begin_with_overlap(pieces, overlap_into)

    def _text_of(self, pieces: Sequence[Piece]) -> str:
        own = self.text[pieces[0].start : pieces[-1].end]
        return f"{pieces[0].header}\n{own}" if pieces[0].header else own

    def _emit(self, pieces: Sequence[Piece], text: str, tokens: int) -> None:
        pages = [piece.page for piece in pieces if piece.page is not None]
        rows = [piece.rows for piece in pieces if piece.rows is not None]
        content = next((piece for piece in pieces if piece.kind != HEADING and not piece.overlap), pieces[-1])
        self.chunks.append(
            Chunk(
                source=self.document.source,
                title=self.document.title,
                text=text,
                page=min(pages) if pages else None,
                page_end=max(pages) if pages else None,
                sheet=content.sheet,
                rows=(min(first for first, _ in rows), max(last for _, last in rows)) if rows else None,
                section=content.section,
                start=pieces[0].start,
                end=pieces[-1].end,
                tokens=tokens,
                number=len(self.chunks),
            )
        )

    def _begin_with_overlap(self, pieces: Sequence[Piece], following: Piece) -> None:
        """Starts the next chunk with the last sentences of the one just closed, where running text was cut."""
        last = pieces[-1]
        if last.kind not in (TEXT, LIST_ITEM) or following.kind not in (TEXT, LIST_ITEM):
            return
        if following.section != last.section or following.sheet != last.sheet:
            return
        floor = max(last.start, pieces[0].start + 1, last.end - CHARACTERS_PER_TOKEN * self.overlap)
        begin, total = last.end, 0
        for start, end in reversed(split_sentences(self.text[floor : last.end])):
            if start == 0 and floor > last.start:
                break  # its beginning was not looked at
            total += count_tokens(self.text[floor + start : floor + end]) + 1
            if total > self.overlap or total + following.tokens + 1 > self.limit:
                break
            begin = floor + start
        if begin < last.end:
            tokens = count_tokens(self.text[begin : last.end])
            self._take(replace(last, start=begin, tokens=tokens, overlap=True, header=""))


def _runs_on(before: str, after: str) -> bool:
    """The sentence at the end of a page goes on at the top of the next."""
    if _SENTENCE_END.search(before[-8:]):
        return False
    return after[0].islower() or before[-1] in ",-–，、" or _UNSPACED_PAIR.fullmatch(before[-1] + after[0]) is not None
