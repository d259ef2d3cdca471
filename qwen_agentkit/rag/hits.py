"""`Hit`: a passage that a search found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.text.segment import segment


@dataclass(slots=True)
class Hit:
    """A passage of a document.

    Args:
        source: Absolute path or address of the document, or the id given to `add_texts`.
        page: Page or slide it begins on, from 1; None where there are none.
        page_end: Page it ends on.
        sheet: Sheet of a spreadsheet.
        rows: First and last row of the sheet.
        section: Headings above it, joined by " > ".
        text: The passage.
        start: First character in the document's stored text.
        end: Behind the last one.
        score: How well it fits, comparable within one result. Of a search by terms it is the share, 0.0 to 1.0, of
            what a passage full of the query's terms would have.
        title: Title of the document.
        number: Place of the passage in its document, from 0.
        tokens: Tokens of `text`.
        chunk: Number of the passage in the index.
        searcher: What found it: `keyword`, `vector`, `hybrid`, or a reranker's name.
        rank: Its place in the result, from 1.
        ranks: For a hybrid search its rank in each part.
        query: Terms that were looked for, with their weights.
    """

    source: str
    page: int | None
    page_end: int | None
    sheet: str | None
    rows: tuple[int, int] | None
    section: str | None
    text: str
    start: int | None
    end: int | None
    score: float = 0.0
    title: str | None = None
    number: int = 0
    tokens: int = 0
    chunk: int = 0
    searcher: str = ""
    rank: int = 0
    ranks: dict[str, int] = field(default_factory=dict)
    query: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def why(self) -> dict[str, Any]:
        """Why it was found: `searcher`, `rank`, `terms` (those of the query that it holds), `ranks` of a hybrid."""
        held = set(segment(self.text)) | set(segment(f"{self.title or ''} {self.section or ''}"))
        reasons: dict[str, Any] = {
            "searcher": self.searcher,
            "rank": self.rank,
            "terms": [term for term in self.query if term in held],
        }
        if self.ranks:
            reasons["ranks"] = dict(self.ranks)
        return reasons

    def passage(self, n: int) -> Passage:
        """The hit as passage number `n` of a prompt; one that no search found but stands beside has no score."""
        return Passage(
            n=n,
            source=self.source,
            text=self.text,
            title=self.title,
            page=self.page,
            page_end=self.page_end,
            sheet=self.sheet,
            rows=list(self.rows) if self.rows else None,
            section=self.section,
            start=self.start,
            end=self.end,
            score=round(self.score, 4) if self.searcher else None,
            searcher=self.searcher or None,
        )
