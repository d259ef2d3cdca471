"""Ways to turn a question into search words with a model; `rag_cfg["rag_keygen_strategy"]` names one of them."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    "GenKeyword": ".gen_keyword",
    "GenKeywordWithKnowledge": ".gen_keyword",
    "SplitQuery": ".split_query",
    "SplitQueryThenGenKeyword": ".split_query",
    "SplitQueryThenGenKeywordWithKnowledge": ".split_query",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
