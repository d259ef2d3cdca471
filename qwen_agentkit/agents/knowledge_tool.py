"""The tool by which a model searches its agent's documents itself (`rag_cfg["knowledge_mode"]`)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.knowledge import passages_from_retrieval, read_knowledge, write_knowledge
from qwen_agentkit.utils.message_text import text_of

if TYPE_CHECKING:
    from qwen_agentkit.memory import Memory

KNOWLEDGE_TOOL = "search_documents"

_NOTHING = {"en": "Nothing was found.", "zh": "没有找到相关内容。"}
# Tokens of one search's passages: the model can search again.
_MAX_TOKENS = 4_000


class KnowledgeTool(BaseTool):
    """Searches the documents of an agent and of its conversation, and gives numbered passages to cite.

    Args:
        memory: The agent's memory.
    """

    name = KNOWLEDGE_TOOL
    description = (
        "Searches the documents at hand and gives numbered passages. Cite a passage by its number behind each "
        "statement that rests on it, as in [1]. Search again in other words when the passages do not answer."
    )
    parameters = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A question, or what to look for, in the documents' language."}
        },
        "required": ["query"],
    }

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def call(self, params: str | dict[str, Any], messages: Sequence[Message] = (), **kwargs: Any) -> str:
        """The passages as a knowledge block, numbered on from those that the conversation has."""
        query = self._verify_json_format_args(params)["query"]
        run = current_run()
        lang = run.lang if run is not None else "en"
        files = self._memory.get_rag_files(list(messages))
        budget = min(_MAX_TOKENS, self._memory.max_ref_token)
        found = self._memory.find(query, files, max_ref_token=budget) if files else []
        # Several searches of one reply run at once: their numbers must not meet.
        first = 1 + max((passage.n for message in messages for passage in read_knowledge(text_of(message))), default=0)
        if run is not None:
            first = run.own("knowledge.numbers", _Numbers).take(first, sum(len(entry["text"]) for entry in found))
        return write_knowledge(passages_from_retrieval(found, first), lang) or _NOTHING["zh" if lang == "zh" else "en"]


class _Numbers:
    """Gives each search of a run numbers of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def take(self, first: int, count: int) -> int:
        """The first of `count` numbers, `first` or above."""
        with self._lock:
            first = max(first, self._last + 1)
            self._last = first + count - 1
            return first
