"""Reading order of a page: columns of prose are read one after the other, all else line by line."""

from __future__ import annotations

from collections.abc import Sequence

from qwen_agentkit.rag.parsers.pdf_lines import Segment, TableBox
from qwen_agentkit.rag.parsers.pdf_page import has_cjk

Item = Segment | TableBox

# Points per bin of the projection in which the gap between columns is looked for.
BIN = 2.0
# A column has at least this many lines, and most of them hold this many words (or twice that of CJK letters).
MIN_LINES = 3
MIN_WORDS = 3
MAX_DEPTH = 6


def reading_order(items: Sequence[Item]) -> list[list[Item]]:
    """Parts of the page that are read from top to bottom, in reading order.

    Args:
        items: Segments and tables of the page.

    Returns:
        Lists of items; each list is one column, or what spans the page.
    """
    return _split(list(items), 0)


def has_columns(items: Sequence[Item]) -> bool:
    """The page holds columns of prose beside each other."""
    return _find_gutter(list(items)) is not None


def _split(items: list[Item], depth: int) -> list[list[Item]]:
    gutter = _find_gutter(items) if depth < MAX_DEPTH else None
    if gutter is None:
        return [items] if items else []
    crossing = [item for item in items if item.x0 < gutter < item.x1]
    beside = [item for item in items if not item.x0 < gutter < item.x1]
    crossing.sort(key=_middle)
    beside.sort(key=_middle)
    parts: list[list[Item]] = []
    pending: list[Item] = []  # what spans the page, and short bands that are no columns

    def close_band(band: list[Item]) -> None:
        left = [item for item in band if item.x1 <= gutter]
        right = [item for item in band if item.x0 >= gutter]
        if _lines(left) >= 2 and _lines(right) >= 2:
            if pending:
                parts.append(pending.copy())
                pending.clear()
            parts.extend(_split(left, depth + 1))
            parts.extend(_split(right, depth + 1))
        else:
            pending.extend(band)

    position = 0
    for item in [*crossing, None]:
        end = position
        while end < len(beside) and (item is None or _middle(beside[end]) < _middle(item)):
            end += 1
        if end > position:
            close_band(beside[position:end])
            position = end
        if item is not None:
            pending.append(item)
    if pending:
        parts.append(pending)
    return parts


def _middle(item: Item) -> float:
    return (item.y0 + item.y1) / 2


def _lines(items: Sequence[Item]) -> int:
    return sum(len(item.rows) if isinstance(item, TableBox) else 1 for item in items)


def _find_gutter(items: list[Item]) -> float | None:
    """x of the emptiest upright strip with prose on both sides, or None."""
    if len(items) < 2 * MIN_LINES:
        return None
    left_edge = min(item.x0 for item in items)
    right_edge = max(item.x1 for item in items)
    bins = int((right_edge - left_edge) / BIN) + 1
    if bins < 20 or bins > 20_000:
        return None
    change = [0] * (bins + 2)
    ends = [0] * (bins + 2)
    starts = [0] * (bins + 2)
    for item in items:
        first = int((item.x0 - left_edge) / BIN)
        last = int((item.x1 - left_edge) / BIN)
        change[first] += 1
        change[last + 1] -= 1
        ends[last + 1] += 1
        starts[first] += 1
    best: tuple[float, int, int] | None = None  # score, first bin, last bin
    covered = before = 0
    after = len(items)
    for at in range(bins):
        covered += change[at]
        before += ends[at]
        after -= starts[at]
        if not 0.12 * bins < at < 0.88 * bins:
            continue
        smaller = min(before, after)
        if smaller < MIN_LINES or covered * 2 > smaller:
            continue
        score = smaller - 2.0 * covered
        if best is None or score > best[0]:
            best = (score, at, at)
        elif score == best[0] and at == best[2] + 1:
            best = (score, best[1], at)
    if best is None:
        return None
    gutter = left_edge + BIN * (best[1] + best[2] + 1) / 2
    return gutter if _is_between_columns(items, gutter) else None


def _is_between_columns(items: list[Item], gutter: float) -> bool:
    left = [item for item in items if item.x1 <= gutter]
    right = [item for item in items if item.x0 >= gutter]
    if _lines(left) < MIN_LINES or _lines(right) < MIN_LINES:
        return False
    shared = min(max(i.y1 for i in left), max(i.y1 for i in right)) - max(
        min(i.y0 for i in left), min(i.y0 for i in right)
    )
    height = min(max(i.y1 for i in side) - min(i.y0 for i in side) for side in (left, right))
    if shared < 0.3 * height or shared <= 0:
        return False
    return all(_is_prose(side) for side in (left, right))


def _is_prose(items: Sequence[Item]) -> bool:
    """Most of the text stands in lines of several words; cells of a table are shorter."""
    prose = total = 0
    for item in items:
        if isinstance(item, Segment):
            length = sum(len(word.text) for word in item.words)
            total += length
            if _word_count(item) >= MIN_WORDS:
                prose += length
    return prose * 3 >= total * 2


def _word_count(segment: Segment) -> int:
    count = 0
    for word in segment.words:
        count += max(1, len(word.text) // 2) if has_cjk(word.text) else 1
    return count
