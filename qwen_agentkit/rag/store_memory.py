"""A store for small sets: rank-bm25 over terms in memory, made anew after a change."""

from __future__ import annotations

import threading
from collections.abc import Collection

from qwen_agentkit.rag.store import Load
from qwen_agentkit.utils.text.bm25 import SmallIndex
from qwen_agentkit.utils.text.question import nearest_terms

# What a term weighs that stands for a misspelt one.
_MISSPELT = 0.8


class MemoryStore:
    """Terms in memory. It keeps nothing on disk; what others have written is loaded by `refresh`.

    Args:
        load: Gives the terms of all chunks.
    """

    name = "memory"

    def __init__(self, load: Load) -> None:
        self._load = load
        self._lock = threading.RLock()
        self._chunks: dict[int, tuple[int, list[str]]] = {}
        self._waiting: list[tuple[int, int, list[str]]] = []
        self._deleted: set[int] = set()
        self._index: SmallIndex | None = None
        self._order: list[int] = []
        self.refresh()

    def add(self, document: int, chunk: int, terms: list[str]) -> None:
        """Adds the terms of a chunk."""
        self._waiting.append((chunk, document, terms))

    def delete(self, document: int) -> None:
        """Takes out a document."""
        self._deleted.add(document)

    def commit(self) -> None:
        """Makes the changes visible."""
        with self._lock:
            kept = {chunk: held for chunk, held in self._chunks.items() if held[0] not in self._deleted}
            kept.update({chunk: (document, terms) for chunk, document, terms in self._waiting})
            self._set(kept)
            self.end_writing()

    def end_writing(self) -> None:
        """Drops what was not committed."""
        self._waiting, self._deleted = [], set()

    def refresh(self) -> None:
        """Loads all terms."""
        loaded = {chunk: (document, terms) for chunk, document, terms in self._load()}
        with self._lock:
            self._set(loaded)

    def _set(self, chunks: dict[int, tuple[int, list[str]]]) -> None:
        self._chunks, self._index = chunks, None

    def _ready(self) -> tuple[SmallIndex, list[int], dict[int, tuple[int, list[str]]]]:
        with self._lock:
            if self._index is None:
                self._order = list(self._chunks)
                self._index = SmallIndex.of_terms([self._chunks[chunk][1] for chunk in self._order])
            return self._index, self._order, self._chunks

    def search(
        self, weights: dict[str, float], top_k: int, documents: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best chunks."""
        index, order, chunks = self._ready()
        if not order or not weights:
            return []
        held = index.vocabulary()
        mistyped = nearest_terms(weights, held)
        meant = {
            mistyped.get(term, term): weight * (_MISSPELT if term in mistyped else 1.0)
            for term, weight in weights.items()
        }
        most = index.most(meant) or 1.0
        wanted = None if documents is None else set(documents)
        scored = [
            (score / most, -place)
            for place, score in enumerate(index.scores_of(meant))
            if score > 0 and (wanted is None or chunks[order[place]][0] in wanted)
        ]
        scored.sort(reverse=True)
        return [(order[-place], score) for score, place in scored[:top_k]]

    def facts(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """Number of chunks, and of those with each term."""
        index, order, _ = self._ready()
        held = index.vocabulary()
        return len(order), {term: held.get(term, 0) for term in terms}

    def close(self) -> None:
        """Lets go of the terms."""
        with self._lock:
            self._set({})
