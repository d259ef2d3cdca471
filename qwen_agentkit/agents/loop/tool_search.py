"""Very many tools: the model searches for those it needs, and gets the schemas of these alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.text.bm25 import rank

SEARCH_TOOL = "search_tools"


@dataclass(frozen=True)
class ToolSearch:
    """Offers a search in place of the tools when there are too many of them.

    Args:
        over: Number of tools above which it does.
        results: Tools that one search finds.
    """

    over: int = 40
    results: int = 8

    def offered(self, turn: Turn, tools: Mapping[str, BaseTool]) -> dict[str, BaseTool]:
        """The tools to offer for the next model call: all, or the search and what it has found in this turn."""
        if len(tools) <= self.over:
            return dict(tools)
        found = {
            name: tools[name]
            for call in turn.all_calls
            if call.name == SEARCH_TOOL and isinstance(call.result, str)
            for name in _names(call.result)
            if name in tools
        }
        return {SEARCH_TOOL: _Search(tools, self.results), **found}


class _Search(BaseTool):
    untrusted = False
    name = SEARCH_TOOL
    description = (
        "Finds tools by what they do. The tools that it finds can be called from your next reply on. Search in the "
        "words of the task; search again for another need."
    )
    parameters = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What the tool should do."}},
        "required": ["query"],
    }

    def __init__(self, tools: Mapping[str, BaseTool], results: int) -> None:
        super().__init__()
        self._tools = list(tools.values())
        self._results = results

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> list[dict[str, str]]:
        query = self._verify_json_format_args(params)["query"]
        scores = rank(query, [f"{tool.name} {tool.description}" for tool in self._tools])
        best = sorted(zip(scores, range(len(scores)), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [
            {"name": self._tools[index].name, "description": self._tools[index].description}
            for score, index in best[: self._results]
            if score > 0
        ]


def _names(result: str) -> list[str]:
    try:
        return [entry["name"] for entry in json.loads(result)]
    except (ValueError, TypeError, KeyError):
        return []  # a search that failed
