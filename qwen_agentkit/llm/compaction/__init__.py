"""Making a long history shorter: policies as small objects, and when they are applied."""

from __future__ import annotations

from qwen_agentkit.llm.compaction.compactor import (
    SUMMARIZE_RESULT,
    Compaction,
    compact,
    compact_after_turn,
    compact_now,
    compaction_from,
)
from qwen_agentkit.llm.compaction.policy import Budget, Policy
from qwen_agentkit.llm.compaction.prune import PruneToolResults
from qwen_agentkit.llm.compaction.summary import RunningSummary, read_summary
from qwen_agentkit.llm.compaction.window import Window

__all__ = [
    "SUMMARIZE_RESULT",
    "Budget",
    "Compaction",
    "Policy",
    "PruneToolResults",
    "RunningSummary",
    "Window",
    "compact",
    "compact_after_turn",
    "compact_now",
    "compaction_from",
    "read_summary",
]
