"""What a store of terms does, and which stores there are.

A store ranks chunks by the terms they hold; texts and places are the catalog's. What it says is only ever taken for
chunks that the catalog knows, so a store that is ahead of the catalog, after a crash, is harmless.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.log import logger

STORES = ("tantivy", "memory", "milvus")
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
        """Makes everything since the last commit lasting and visible."""

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


@dataclass(frozen=True)
class StoreChoice:
    """Which store an index has.

    Args:
        name: `tantivy`, `memory` or `milvus`.
        options: For `milvus`: `uri` (address of the server, or a file for milvus-lite), `token`, `db_name`, `prefix`.
    """

    name: str = "tantivy"
    options: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, given: str | Mapping[str, Any]) -> StoreChoice:
        """Reads what `DocumentIndex` takes as `store`: a name, or a dict with `name` and the store's options.

        Raises:
            ValueError: There is no such store, or it has no such option.
        """
        options = {"name": given} if isinstance(given, str) else dict(given) if isinstance(given, Mapping) else {}
        name = options.pop("name", None)
        if name not in STORES:
            raise ValueError(f"store is 'tantivy', 'memory' or 'milvus', or a dict with such a name, not {name!r}")
        known = ("uri", "token", "db_name", "prefix") if name == "milvus" else ()
        wrong = [key for key in options if key not in known]
        if wrong:
            raise ValueError(f"The store {name} has no option {wrong[0]!r}; it has {', '.join(known) or 'none'}")
        return cls(name, options)

    def lasts(self, path: Path | None) -> bool:
        """Whether the terms of an index at `path` are still there when it is opened again."""
        return self.name == "milvus" if path is None else self.name != "memory"


@dataclass(frozen=True)
class StorePlace:
    """Where the store of one index lies.

    Args:
        folder: A folder of its own, beside the catalog; None keeps it in memory.
        key: A name that no other index has, for a store on a server.
    """

    folder: Path | None = None
    key: str = ""


def open_store(choice: StoreChoice | str, place: StorePlace | None, load: Load, new: bool = False) -> Store:
    """Opens a store.

    Args:
        choice: Which. Where tantivy is not installed, `memory` serves instead, with a line in the log.
        place: Where it lies; None is in memory.
        load: Gives all terms, for a store that holds them in memory only.
        new: It is made; else one that is missing is an error.

    Raises:
        ValueError: There is no such store, or what lies at the place cannot be read.
        MissingDependencyError: The package of a store on a server is not installed.
        ConnectionError: The server does not answer.
    """
    choice = StoreChoice.read(choice) if isinstance(choice, str) else choice
    place = place or StorePlace()
    if choice.name == "milvus":
        from qwen_agentkit.rag.store_milvus import MilvusStore

        return MilvusStore(choice.options, place, new)
    if choice.name == "tantivy":
        from qwen_agentkit.rag.store_tantivy import TantivyStore

        try:
            return TantivyStore(place.folder)
        except MissingDependencyError as error:
            logger.warning("%s Until then the index is ranked in memory, which suits small sets only.", error)
    from qwen_agentkit.rag.store_memory import MemoryStore

    return MemoryStore(load)


def erase_store(choice: StoreChoice, place: StorePlace) -> None:
    """Removes what a store has kept at a place; harmless where there is nothing."""
    if choice.name == "milvus":
        from qwen_agentkit.rag.store_milvus import erase_collections

        erase_collections(choice.options, place)
    elif place.folder is not None:
        shutil.rmtree(place.folder, ignore_errors=True)  # open readers keep their files until they look again
