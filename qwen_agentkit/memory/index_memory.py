"""`IndexMemory`: a memory whose documents are those of an index that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qwen_agentkit.memory.memory import Memory
from qwen_agentkit.rag.existing_index import ExistingIndex
from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.retrieval import retrieve
from qwen_agentkit.schema import Message
from qwen_agentkit.tools.retrieval import Found
from qwen_agentkit.utils.message_files import files_of
from qwen_agentkit.utils.tokenization_qwen import count_tokens


class IndexMemory(Memory):
    """Retrieval from an index, and from the `file` items of the conversation beside it.

        agent = Assistant(llm={"model": "qwen-max"})
        agent.mem = IndexMemory(DocumentIndex("indexes/handbook"), llm=agent.llm)

    Args:
        index: The index. It is searched as it is; bringing it up to date is its owner's work.
        llm: The model for search words.
        rag_cfg: As for `Memory`.
    """

    def __init__(self, index: DocumentIndex, llm: Any = None, rag_cfg: dict[str, Any] | None = None) -> None:
        super().__init__(llm=llm, rag_cfg=rag_cfg)
        self.index = index
        self._base = ExistingIndex(index)

    def get_rag_files(self, messages: list[Message]) -> list[str]:
        """The index, and the files of the conversation."""
        return [repr(self.index), *dict.fromkeys(files_of(messages))]

    def find(self, query: str, files: Sequence[str], **kwargs: Any) -> Found:
        """Searches the index, and files of the conversation where there are any: they get up to half the budget."""
        self._base.refresh()
        budget = kwargs.get("max_ref_token", self.max_ref_token)
        others = [file for file in files if file != repr(self.index)]
        beside = super().find(query, others, **{**kwargs, "max_ref_token": budget // 2}) if others else Found()
        left = budget - sum(count_tokens(text) for entry in beside for text in entry["text"])
        return Found([*retrieve(query, [self._base], left, self.rag_searchers), *beside], beside.problems)
