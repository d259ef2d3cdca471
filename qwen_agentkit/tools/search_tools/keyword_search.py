"""`keyword_search`: BM25 over chunks in memory (rank-bm25, its idf mended so that two chunks rank too)."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from qwen_agentkit.tools.base import register_tool
from qwen_agentkit.tools.records import Record
from qwen_agentkit.tools.search_tools.base_search import BaseSearch, Scored
from qwen_agentkit.utils.text.bm25 import SmallIndex

# Segmented sets of chunks that are kept for the next question over the same ones.
_MAX_KEPT = 8
_kept: OrderedDict[bytes, SmallIndex] = OrderedDict()
_lock = threading.Lock()


@register_tool("keyword_search")
class KeywordSearch(BaseSearch):
    """Finds passages by their words."""

    def sort_by_scores(self, query: str, docs: Sequence[Record], **kwargs: Any) -> Scored:
        """Chunks by their BM25 score."""
        places = [(record.url, number) for record in docs for number in range(len(record.raw))]
        scores = _index([chunk.content for record in docs for chunk in record.raw]).scores(query)
        scored = [(url, number, score) for (url, number), score in zip(places, scores, strict=True)]
        scored.sort(key=lambda item: -item[2])
        return scored


def _index(texts: list[str]) -> SmallIndex:
    """The texts segmented; remembered, since segmenting takes far longer than ranking."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    key = digest.digest()
    with _lock:
        held = _kept.get(key)
        if held is not None:
            _kept.move_to_end(key)
            return held
    made = SmallIndex(texts)
    with _lock:
        _kept[key] = made
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return made
