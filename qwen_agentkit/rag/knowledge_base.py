"""`KnowledgeBase`: one set of files on an index in the workspace, always as the files are now.

A set of files has one index, whichever agent or process asks for it. Before each question the files are looked at;
only when one has changed is anything written. A question does not wait for another writer longer than a few
seconds: it is then answered from what is committed, and from the changed files read on the side.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.rag.explain import Explanation
from qwen_agentkit.rag.freshness import look_at
from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.open_indexes import OpenIndexes, SharedIndex
from qwen_agentkit.rag.report import Problem
from qwen_agentkit.rag.sources import is_url
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.work_dir import local_path

# Seconds that a question waits for another writer.
WAIT_SECONDS = 5.0

_open = OpenIndexes()


class KnowledgeBase:
    """The passages of a set of files, for one question: what `refresh` finds is not changed by another thread's.

    Args:
        index: The index of the files.
        files: Paths, folders, patterns, addresses.
        options: What another index in its place is made with: `chunk_tokens`, `embedder`, `reranker`, `store`.
        shared: What keeps the index open as long as this base is in use; None leaves that to the caller.
    """

    def __init__(
        self,
        index: DocumentIndex,
        files: Sequence[str] = (),
        options: dict[str, Any] | None = None,
        shared: SharedIndex | None = None,
    ) -> None:
        self.files = list(files)
        self._shared = shared
        self._options = dict(options or {})
        self._index = index
        # What another writer kept from being indexed, read on the side.
        self._beside: DocumentIndex | None = None
        self._hidden: frozenset[str] = frozenset()
        self.sources: list[str] = []

    def refresh(self, wait: float = WAIT_SECONDS) -> list[Problem]:
        """Sees to it that the base says what its files say now.

        Args:
            wait: Seconds to wait for another writer.

        Returns:
            What cannot be read.
        """
        fresh = look_at(self._index, self.files)
        self.sources = fresh.sources
        self._beside, self._hidden = None, frozenset()
        if fresh.is_current:
            return fresh.problems
        run = current_run()
        cancelled = (lambda: run.cancel.cancelled) if run is not None else None
        try:
            report = self._index.add(self.files, wait=wait, cancelled=cancelled)
        except TimeoutError:
            return fresh.problems + self._read_beside(fresh.outdated, fresh.gone)
        if run is not None:
            run.cancel.raise_if_cancelled()
        return report.problems

    def _read_beside(self, outdated: list[str], gone: list[str]) -> list[Problem]:
        """Reads the changed files into memory, and leaves out what the index has of them."""
        run = current_run()
        if run is not None:
            run.warn(
                "The index of these documents is being written by another process; the answer rests on its last state "
                f"and on {len(outdated)} changed documents read beside it"
            )
        self._beside = DocumentIndex(None, **self._options)
        self._hidden = frozenset([*outdated, *gone])
        return self._beside.add(outdated).problems if outdated else []

    @property
    def tokens(self) -> int:
        """Tokens of all passages."""
        return sum(index.totals()["tokens"] for index in self._indexes())

    @property
    def count(self) -> int:
        """How many passages there are."""
        return sum(index.totals()["chunks"] for index in self._indexes())

    def _indexes(self) -> list[DocumentIndex]:
        return [self._index] if self._beside is None else [self._index, self._beside]

    def passages(self, source: str, first: int = 0, last: int | None = None) -> list[Hit]:
        """Passages of one of its sources in reading order: all, or those from number `first` to `last`."""
        if self._beside is not None and source in self._hidden:
            return self._beside.chunks(source, first, last)
        return self._index.chunks(source, first, last)

    def search(self, query: str, top_k: int) -> list[Hit]:
        """The best passages."""
        if self._beside is None:
            return self._index.search(query, top_k)
        hits = self._index.search(query, top_k, lambda hit: hit.source not in self._hidden)
        return sorted([*hits, *self._beside.search(query, top_k)], key=lambda hit: -hit.score)[:top_k]

    def explain(self, hit: Hit) -> Explanation:
        """What the score of one of its hits is made of."""
        beside = self._beside is not None and hit.source in self._hidden
        return (self._beside if beside and self._beside is not None else self._index).explain(hit)


def knowledge_base(files: Sequence[str], chunk_tokens: int, **options: Any) -> KnowledgeBase:
    """The base for a set of files, for one question; its index is opened once in a process.

    Args:
        files: Paths, folders, patterns, addresses; their order does not matter.
        chunk_tokens: The most tokens of a passage.
        **options: `embedder`, `reranker`, `store`.
    """
    names = sorted({name if is_url(name) else os.path.abspath(os.path.expanduser(local_path(name))) for name in files})
    embedder = options.get("embedder")
    facts = [names, chunk_tokens, getattr(embedder, "name", None) or str(embedder or ""), options.get("store") or ""]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]
    folder = Path(os.path.abspath(settings.DEFAULT_WORKSPACE), "knowledge", key)
    reranker = options.get("reranker")
    handle = f"{folder} {id(embedder)} {id(reranker)}"
    given = {name: value for name, value in options.items() if value is not None} | {"chunk_tokens": chunk_tokens}
    shared = _open.get(handle, folder, **given)
    return KnowledgeBase(shared.index, names, given, shared)
