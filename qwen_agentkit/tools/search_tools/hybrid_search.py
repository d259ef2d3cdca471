"""`hybrid_search`: several searchers, fused by rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.records import Record
from qwen_agentkit.tools.registry import TOOL_REGISTRY
from qwen_agentkit.tools.search_tools.base_search import BaseSearch, Scored

# The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
RRF_K = 60


@register_tool("hybrid_search")
class HybridSearch(BaseSearch):
    """Fuses the rankings of other searchers: a chunk's score is the sum of 1 / (rank + 60) over them.

    Args:
        cfg: `rag_searchers`, names of registered searchers; the rest goes to each of them.

    Raises:
        ValueError: A name is not registered, or is this searcher's own.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.rag_searchers: list[str] = list(self.cfg.get("rag_searchers", settings.DEFAULT_RAG_SEARCHERS))
        if self.name in self.rag_searchers:
            raise ValueError(f"{self.name} cannot be one of its own rag_searchers: {self.rag_searchers}")
        unknown = [name for name in self.rag_searchers if name not in TOOL_REGISTRY]
        if unknown or not self.rag_searchers:
            raise ValueError(f"rag_searchers are names of registered searchers, not {unknown or self.rag_searchers}")
        self.search_objs: list[BaseSearch] = [TOOL_REGISTRY[name](self.cfg) for name in self.rag_searchers]

    def sort_by_scores(self, query: str, docs: Sequence[Record], **kwargs: Any) -> Scored:
        """Chunks by their fused score; a chunk that one searcher puts above all others stays there."""
        fused: dict[tuple[str, int], float] = {}
        for searcher in self.search_objs:
            for rank, (url, number, score) in enumerate(searcher.sort_by_scores(query, docs, **kwargs), 1):
                if score <= 0:
                    break
                gain = math.inf if score == math.inf else 1 / (rank + RRF_K)
                fused[url, number] = fused.get((url, number), 0.0) + gain
        scored = [(url, number, score) for (url, number), score in fused.items()]
        scored.sort(key=lambda item: -item[2])
        return scored
