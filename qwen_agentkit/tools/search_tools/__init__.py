"""Searchers over documents at hand: by words, by meaning, the front pages, and several fused."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "FrontPageSearch": ".front_page_search",
    "HybridSearch": ".hybrid_search",
    "KeywordSearch": ".keyword_search",
    "VectorSearch": ".vector_search",
}

__all__ = list(_WHERE)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
