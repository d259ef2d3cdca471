"""The passages of documents that a question asks for, within a budget of tokens."""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.rag.chunking import Chunk
from qwen_agentkit.rag.library import Library, Shelf
from qwen_agentkit.rag.sources import Problem
from qwen_agentkit.utils.knowledge import Passage, retrieval_from_passages
from qwen_agentkit.utils.text.bm25 import SmallIndex
from qwen_agentkit.utils.text.segment import segment

KEYWORD, FRONT_PAGE = "keyword_search", "front_page_search"

# The front pages of a document, and the share of the budget that they may take.
_FRONT_PAGES = 2
_FRONT_SHARE = 0.25
_INDEXES_IN_MEMORY = 16


class Retrieved(list):
    """What the `retrieval` tool gives: `{"url", "text": [...], "passages": [...]}` for each document.

    Attributes:
        problems: Files that could not be read, `{"file", "reason"}` each.
    """

    def __init__(self, entries: Sequence[dict[str, Any]] = (), problems: Sequence[Problem] = ()) -> None:
        super().__init__(entries)
        self.problems = list(problems)


@dataclass(frozen=True)
class _Ranked:
    chunk: Chunk
    score: float | None


class Retriever:
    """Finds passages in sets of files.

    Args:
        library: Reads the files; None is one in the workspace.
    """

    def __init__(self, library: Library | None = None) -> None:
        self._library = library or Library()
        self._lock = threading.Lock()
        self._indexes: OrderedDict[Any, SmallIndex] = OrderedDict()

    def prepare(self, files: Sequence[str | os.PathLike[str]], chunk_tokens: int) -> list[Problem]:
        """Reads and indexes files ahead of a question; returns those that cannot be read."""
        shelf = self._library.shelf(files, chunk_tokens)
        if shelf.chunks:
            self._index(shelf, chunk_tokens)
        return shelf.problems

    def retrieve(
        self,
        query: str,
        files: Sequence[str | os.PathLike[str]],
        *,
        max_ref_token: int,
        chunk_tokens: int,
        searchers: Sequence[str] = (KEYWORD, FRONT_PAGE),
    ) -> Retrieved:
        """Finds the passages of files that a question asks for.

        Args:
            query: The question, or `{"keywords": [...], "text": question}` as JSON.
            files: Paths, folders, patterns, addresses.
            max_ref_token: Tokens of all passages together.
            chunk_tokens: The most tokens of one passage.
            searchers: Names of the ways to search.

        Returns:
            Passages by document. Documents that fit the budget are given whole; without a question, or when
            nothing fits it, the front parts are.
        """
        shelf = self._library.shelf(files, chunk_tokens)
        everything = [chunk for chunks in shelf.chunks.values() for chunk in chunks]
        if sum(chunk.tokens for chunk in everything) <= max_ref_token:
            return _result([_Ranked(chunk, None) for chunk in everything], shelf)
        words = query_text(query)
        scores = self._index(shelf, chunk_tokens).scores(words) if words.strip() else []
        if not scores or max(scores) <= 0:
            return _result(_front_parts(shelf, max_ref_token), shelf)
        ranked = sorted(
            (_Ranked(chunk, score) for chunk, score in zip(everything, scores, strict=True) if score > 0),
            key=lambda one: -(one.score or 0.0),
        )
        front = _front_pages(shelf, ranked, max_ref_token) if FRONT_PAGE in searchers else []
        return _result(_within(front + ranked, max_ref_token), shelf)

    def _index(self, shelf: Shelf, chunk_tokens: int) -> SmallIndex:
        key = (tuple(shelf.versions.items()), chunk_tokens)
        with self._lock:
            index = self._indexes.get(key)
            if index is not None:
                self._indexes.move_to_end(key)
                return index
        index = SmallIndex.of_terms([segment(chunk.text) for chunks in shelf.chunks.values() for chunk in chunks])
        with self._lock:
            self._indexes[key] = index
            while len(self._indexes) > _INDEXES_IN_MEMORY:
                self._indexes.popitem(last=False)
        return index


def query_text(query: str) -> str:
    """The words to search for in a query that may be JSON with keywords beside the question."""
    if query.lstrip().startswith("{"):
        try:
            held = json.loads(query)
        except ValueError:
            return query
        if isinstance(held, dict) and isinstance(held.get("text"), str):
            words = held.get("keywords")
            return " ".join([held["text"], *(word for word in words or [] if isinstance(word, str))])
    return query


def _front_parts(shelf: Shelf, budget: int) -> list[_Ranked]:
    """The beginnings of all documents, the budget shared evenly."""
    chosen: list[_Ranked] = []
    left = budget
    for position, chunks in enumerate(shelf.chunks.values()):
        share = left // max(1, len(shelf.chunks) - position)
        part = _within([_Ranked(chunk, None) for chunk in chunks], share)
        left -= sum(one.chunk.tokens for one in part)
        chosen += part
    return chosen


def _front_pages(shelf: Shelf, ranked: Sequence[_Ranked], budget: int) -> list[_Ranked]:
    """Front pages worth having: of the only document, or the opening of each that the best hits come from."""
    if len(shelf.chunks) == 1:
        front = [chunk for chunk in next(iter(shelf.chunks.values())) if (chunk.page or 1) <= _FRONT_PAGES]
    else:
        best = dict.fromkeys(one.chunk.source for one in ranked[:10])
        front = [shelf.chunks[source][0] for source in best]
    if any(chunk.page is None for chunk in front):
        front = front[:1]
    if sum(chunk.tokens for chunk in front) >= budget * _FRONT_SHARE:
        return []
    scores = {(one.chunk.source, one.chunk.number): one.score for one in ranked}
    return [_Ranked(chunk, scores.get((chunk.source, chunk.number))) for chunk in front]


def _within(ranked: Sequence[_Ranked], budget: int) -> list[_Ranked]:
    """The first that fit the budget, each once; what does not fit is passed over for a smaller one behind it."""
    chosen: dict[tuple[str, int], _Ranked] = {}
    left = budget
    for one in ranked:
        key = (one.chunk.source, one.chunk.number)
        if key not in chosen and one.chunk.tokens <= left:
            chosen[key] = one
            left -= one.chunk.tokens
    return list(chosen.values())


def _result(chosen: Sequence[_Ranked], shelf: Shelf) -> Retrieved:
    """The chosen passages in the order of their documents, best document first."""
    order = {source: position for position, source in enumerate(dict.fromkeys(one.chunk.source for one in chosen))}
    in_order = sorted(chosen, key=lambda one: (order[one.chunk.source], one.chunk.number))
    passages = [
        Passage(
            n,
            one.chunk.source,
            one.chunk.text,
            one.chunk.title,
            one.chunk.page,
            one.chunk.page_end,
            one.chunk.sheet,
            list(one.chunk.rows) if one.chunk.rows else None,
            one.chunk.section,
            one.chunk.start,
            one.chunk.end,
            one.score,
        )
        for n, one in enumerate(in_order, 1)
    ]
    return Retrieved(retrieval_from_passages(passages), shelf.problems)
