"""`front_page_search`: the first pages, which say what a document is about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.records import Chunk, Record
from qwen_agentkit.tools.search_tools.base_search import BaseSearch, Scored

POSITIVE_INFINITY = math.inf
DEFAULT_FRONT_PAGE_NUM = 2
# The front pages may take this share of the budget, all documents together.
_SHARE = 4


@register_tool("front_page_search")
class FrontPageSearch(BaseSearch):
    """Puts the first pages of each document before everything else, as long as they leave room for the rest.

    With several documents each gets an even part of a quarter of the budget, so with many of them none is shown.
    """

    def sort_by_scores(self, query: str, docs: Sequence[Record], **kwargs: Any) -> Scored:
        """The front chunks of each document, with a score above all others."""
        budget = kwargs.get("max_ref_token", self.max_ref_token) // _SHARE // max(1, len(docs))
        scored: Scored = []
        for record in docs:
            left = budget
            for number, chunk in enumerate(record.raw):
                left -= chunk.token
                if left < 0 or not _is_front(chunk, number):
                    break
                scored.append((record.url, number, POSITIVE_INFINITY))
        return scored


def _is_front(chunk: Chunk, number: int) -> bool:
    page = chunk.metadata.get("page")
    return (page if isinstance(page, int) else number + 1) <= DEFAULT_FRONT_PAGE_NUM
