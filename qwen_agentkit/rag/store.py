"""What a store of terms does, and which stores there are.

A store ranks chunks by the terms they hold; texts and places are the catalog's. What it says is only ever taken for
chunks that the catalog knows, so a store that is ahead of the catalog, after a crash, is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Protocol

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.log import logger

# (chunk, document, terms) of everything there is
Load = Callable[[], Iterable[tuple[int, int, list[str]]]]


class Store(Protocol):
    """A store of terms. One thread writes at a time; any number search."""

    name: str

    def add(self, document: int, chunk: int, terms: list[str]) -> None:
        """Adds the terms of a chunk; visible after `commit`."""

    def delete(self, document: int) -> None:
        """Takes out all chunks of a document; visible after `commit`."""

    def commit(self) -> None:
        """Makes everything since the last commit lasting and visible, all of it or none."""

    def end_writing(self) -> None:
        """Lets go of what only a writer needs; what was not committed is dropped."""

    def search(
        self, weights: dict[str, float], top_k: int, documents: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best chunks for terms with weights, as (chunk, score from 0 to 1), the best first.

        Args:
            weights: Terms of the query.
            top_k: How many.
            documents: Only chunks of these; None is all.
        """

    def facts(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many chunks there are, and how many of them hold each term."""

    def refresh(self) -> None:
        """Sees what others have committed."""

    def close(self) -> None:
        """Closes all files."""


def open_store(name: str, folder: Path | None, load: Load) -> Store:
    """Opens a store.

    Args:
        name: `tantivy` or `memory`. Where tantivy is not installed, `memory` serves instead, with a line in the log.
        folder: Folder of the store's own; None keeps it in memory.
        load: Gives all terms, for a store that holds them in memory only.
    """
    if name == "tantivy":
        from qwen_agentkit.rag.store_tantivy import TantivyStore

        try:
            return TantivyStore(folder)
        except MissingDependencyError as error:
            logger.warning("%s Until then the index is ranked in memory, which suits small sets only.", error)
    elif name != "memory":
        raise ValueError(f"store is 'tantivy' or 'memory', not {name!r}")
    from qwen_agentkit.rag.store_memory import MemoryStore

    return MemoryStore(load)
