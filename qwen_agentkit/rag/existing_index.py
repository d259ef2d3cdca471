"""An index that a program has made itself, where a knowledge base over files is wanted otherwise."""

from __future__ import annotations

from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.knowledge_base import WAIT_SECONDS, KnowledgeBase
from qwen_agentkit.rag.report import Problem


class ExistingIndex(KnowledgeBase):
    """The passages of an index, as it is: its files are not looked at.

    Args:
        index: The index; it stays open as long as its owner wants.
    """

    def __init__(self, index: DocumentIndex) -> None:
        super().__init__(index)
        self.refresh()

    def refresh(self, wait: float = WAIT_SECONDS) -> list[Problem]:
        """Sees which documents the index holds now, whoever added them."""
        self.sources = self._index.names()
        return []
