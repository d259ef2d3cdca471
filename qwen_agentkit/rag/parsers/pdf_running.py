"""Running headers and footers: lines at the edge of the page that return on most pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from qwen_agentkit.rag.parsers.pdf_blocks import edge_words
from qwen_agentkit.rag.parsers.pdf_lines import rows_of, segments_of
from qwen_agentkit.rag.parsers.pdf_page import PageContent

# A number by itself; one within a word or a code is part of what the line says.
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w,-]|\.\d)")
# On fewer pages nothing can be said to return.
MIN_PAGES = 3
MIN_SHARE = 0.4


class RunningLines:
    """Knows the running lines of a document; asked by `add_page`.

    Each is added once, where it comes first. Later ones are left out when they say the same, the page's own number
    aside; a line whose other figures change (a sum at the foot of each page) is ordinary text.
    """

    def __init__(self, sample: Iterable[PageContent]) -> None:
        pages = list(sample)
        seen: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
        for page in pages:
            for row in rows_of(segments_of(edge_words(page))):
                text = row.text
                numbers = tuple(int(number[-9:]) for number in _NUMBER.findall(text))
                seen[_pattern(text)][page.number] = numbers
        self._patterns = {pattern for pattern, found in seen.items() if _is_running(found, len(pages))}
        self._added: set[str] = set()

    def __call__(self, text: str) -> bool | None:
        """See `add_page`."""
        pattern = _pattern(text)
        if pattern not in self._patterns:
            return None
        if pattern in self._added:
            return False
        self._added.add(pattern)
        return True


def _pattern(text: str) -> str:
    return _NUMBER.sub("#", " ".join(text.split()))


def _is_running(found: dict[int, tuple[int, ...]], pages_read: int) -> bool:
    """The line returns often, and every figure in it stays the same or counts the pages."""
    if len(found) < MIN_PAGES:
        return False
    pages = sorted(found)
    counts = False
    for values in zip(*(found[page] for page in pages), strict=True):
        constant = len(set(values)) == 1
        counting = len({value - page for value, page in zip(values, pages, strict=True)}) == 1
        if not constant and not counting:
            return False
        counts = counts or (counting and not constant)
    return counts or len(found) >= MIN_SHARE * pages_read
