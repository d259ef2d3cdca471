"""`Library`: a set of documents as an MCP client sees it, searched and read page by page."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.rag.knowledge_base import KnowledgeBase, knowledge_base
from qwen_agentkit.rag.sources import is_url
from qwen_agentkit.tools.documents import Sources, find_sources, read_sources

if TYPE_CHECKING:
    from qwen_agentkit.rag.document import Document
    from qwen_agentkit.rag.hits import Hit

MAX_HITS = 50
# Characters that one reading gives, unless a single block is longer.
READING_CHARS = 20_000
_NAMES_TOLD = 50


@dataclass
class FoundPassage:
    """A passage that fits a question.

    Args:
        n: Its number in the result, from 1, to cite it by.
        document: Absolute path or address, for `read_document`.
        title: Title of the document.
        page, page_end: Where it begins and ends; null where the format has no pages.
        sheet, rows: In a spreadsheet.
        section: Headings above it.
        start, end: Its place in the document's text, in characters.
        score: How well it fits, comparable within one result.
        text: The passage itself.
    """

    n: int
    document: str
    title: str | None
    page: int | None
    page_end: int | None
    sheet: str | None
    rows: list[int] | None
    section: str | None
    start: int | None
    end: int | None
    score: float
    text: str


@dataclass
class Unreadable:
    """A document that could not be read, and why."""

    document: str
    reason: str


@dataclass
class SearchResult:
    """What a search found.

    Args:
        passages: Best first.
        problems: Documents that could not be read.
        documents: How many documents were searched.
    """

    passages: list[FoundPassage] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    documents: int = 0


@dataclass
class Reading:
    """A part of a document.

    Args:
        document: Absolute path or address.
        title: Its title.
        text: The text of this part.
        page, page_end: Pages that the part is from; null where there are none.
        pages: How many pages the document has.
        start, end: The part's place in the document's text, in characters.
        length: Characters of the whole text.
        next_start: `start` of the part after this one; null at the end.
        warnings: What could not be read in the document.
    """

    document: str
    title: str
    text: str
    page: int | None
    page_end: int | None
    pages: int | None
    start: int
    end: int
    length: int
    next_start: int | None
    warnings: list[str] = field(default_factory=list)


class Library:
    """Documents, as they are at each call.

    Args:
        files: Paths, folders, patterns, addresses.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = [name if is_url(name) else os.path.abspath(os.path.expanduser(name)) for name in files]
        # A base is brought up to date by one thread at a time.
        self._lock = threading.Lock()

    def refresh(self) -> list[Unreadable]:
        """Reads what is new or has changed, and says what cannot be read."""
        with self._lock:
            return self._refreshed(self._base())

    def search(self, query: str, limit: int = 8) -> SearchResult:
        """The passages that fit a question best.

        Args:
            query: A question or words.
            limit: The most passages, 1 to 50.

        Raises:
            ToolArgumentsError: There is no query, or the limit is out of bounds.
        """
        if not query.strip():
            raise ToolArgumentsError("query: a question or words are wanted")
        if not 1 <= limit <= MAX_HITS:
            raise ToolArgumentsError(f"limit is from 1 to {MAX_HITS}, not {limit}")
        with self._lock:
            base = self._base()
            problems = self._refreshed(base)
            hits = base.search(query, limit)
            unread = {problem.document for problem in problems}
            count = sum(source not in unread for source in base.sources)
        return SearchResult([_passage(number, hit) for number, hit in enumerate(hits, 1)], problems, count)

    def _base(self) -> KnowledgeBase:
        # The base that an assistant over the same files has too.
        return knowledge_base(self.files, settings.DEFAULT_PARSER_PAGE_SIZE)

    def _refreshed(self, base: KnowledgeBase) -> list[Unreadable]:
        return [
            Unreadable(problem.source, problem.reason.removeprefix(f"{problem.source}: ")) for problem in base.refresh()
        ]

    def read(self, document: str, page: int | None = None, start: int = 0) -> Reading:
        """A part of a document.

        Args:
            document: Its path or address as a search gave it, or its name where only one document has it.
            page: Begin on this page, from 1, and give no more than it; None goes by `start`.
            start: Begin at this character.

        Raises:
            ToolArgumentsError: No such document or page, or it cannot be read.
        """
        sources = find_sources(self.files)
        name = _meant(document, sources)
        wanted = Sources({name: sources.paths[name]})
        read = dict(read_sources(wanted))
        if name not in read:
            reason = next((problem.reason for problem in wanted.problems), "it cannot be read")
            raise ToolArgumentsError(f"{name}: {reason.removeprefix(f'{name}: ')}")
        return _part(read[name], page, start)


def _passage(number: int, hit: Hit) -> FoundPassage:
    return FoundPassage(
        n=number,
        document=hit.source,
        title=hit.title,
        page=hit.page,
        page_end=hit.page_end,
        sheet=hit.sheet,
        rows=list(hit.rows) if hit.rows else None,
        section=hit.section,
        start=hit.start,
        end=hit.end,
        score=round(hit.score, 4),
        text=hit.text,
    )


def _meant(document: str, sources: Sources) -> str:
    """The one document of the library that a client named; nothing outside of it can be named."""
    named = document.strip()
    if named in sources.paths:
        return named
    tail = os.path.normpath(named).replace(os.sep, "/") if named else ""
    ending = [name for name in sources.paths if tail and f"/{name}".replace(os.sep, "/").endswith(f"/{tail}")]
    if len(ending) == 1:
        return ending[0]
    known = ", ".join(ending or list(sources.paths)[:_NAMES_TOLD]) or "none"
    told = "more than one document has that name" if ending else "there is no such document here"
    raise ToolArgumentsError(f"{document!r}: {told}. Documents: {known}")


def _part(document: Document, page: int | None, start: int) -> Reading:
    """Whole blocks from a page or a character on."""
    length, spans = len(document.text), document.block_spans()
    if page is not None:
        on_page = [span for span, block in zip(spans, document.blocks, strict=True) if block.page == page]
        if not on_page:
            pages = document.page_count
            told = f"it has {pages} pages" if pages else "it has no pages; leave page out"
            if pages and 1 <= page <= pages:
                told = "there is no text on that page"
            raise ToolArgumentsError(f"{document.source}, page {page}: {told}")
        begin, bound = on_page[0][0], on_page[-1][1]
    elif 0 <= start < max(length, 1):
        begin, bound = start, length
    else:
        raise ToolArgumentsError(f"start is from 0 to {max(length - 1, 0)}, not {start}")
    end = bound
    if bound - begin > READING_CHARS:
        whole = [stop for _, stop in spans if begin < stop <= begin + READING_CHARS]
        end = whole[-1] if whole else begin + READING_CHARS
    on_pages = [
        block.page
        for (first, stop), block in zip(spans, document.blocks, strict=True)
        if first < end and stop > begin and block.page is not None
    ]
    following = next((first for first, _ in spans if first >= end), length) if end < length else None
    if end < bound and not any(stop == end for _, stop in spans):
        following = end
    return Reading(
        document=document.source,
        title=document.title,
        text=document.text[begin:end],
        page=min(on_pages, default=None),
        page_end=max(on_pages, default=None),
        pages=document.page_count,
        start=begin,
        end=end,
        length=length,
        next_start=following if following is not None and following < length else None,
        warnings=list(document.warnings),
    )
