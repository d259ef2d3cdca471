"""Which stored citations rested on what has changed in an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.rag.catalog import Catalog, ChangeRow
from qwen_agentkit.utils.text.quotes import find_quote


def rests_on(citation: Mapping[str, Any], change: ChangeRow, catalog: Catalog) -> bool:
    """Whether a citation's ground is another one after a change.

    Args:
        citation: Its `source`, `page`, `page_end` and `quote` count.
        change: The change.
        catalog: Of the index, as it is now.

    Returns:
        True when the source is gone, its page changed, or (without pages) its quote is no longer there.
    """
    if citation.get("source") != change.source or change.kind == "added":
        return False
    if change.kind == "removed":
        return True
    page = citation.get("page")
    if change.pages is not None and page is not None:
        return any(page <= changed <= (citation.get("page_end") or page) for changed in change.pages)
    quote = citation.get("quote") or ""
    return not any(find_quote(quote, hit.text) for hit in catalog.chunks_of(change.source))
