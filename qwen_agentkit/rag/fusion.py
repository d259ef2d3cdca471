"""Joins the results of several searches by the ranks in each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

# The k of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
RANK_CONSTANT = 60

Item = TypeVar("Item", bound=Hashable)


def fuse(
    results: Mapping[str, Sequence[Item]], weights: Mapping[str, float] | None = None
) -> list[tuple[Item, float, dict[str, int]]]:
    """Weighted reciprocal rank fusion.

    Args:
        results: Name of a search -> what it found, the best first.
        weights: Name -> its weight, 1.0 where none is given. A search of weight 0 adds nothing but what no other found.

    Returns:
        (item, score, rank in each search from 1), the best first; 1.0 is first in every search. Ties keep the order of
        the heaviest search.
    """
    given = {name: max(0.0, (weights or {}).get(name, 1.0)) for name in results}
    total = sum(given.values()) or 1.0
    ranks: dict[Item, dict[str, int]] = {}
    for name in sorted(results, key=lambda name: -given[name]):
        for rank, item in enumerate(results[name], 1):
            ranks.setdefault(item, {}).setdefault(name, rank)
    scores = {
        item: sum(given[name] * (RANK_CONSTANT + 1) / (RANK_CONSTANT + rank) for name, rank in own.items()) / total
        for item, own in ranks.items()
    }
    return [(item, scores[item], ranks[item]) for item in sorted(ranks, key=lambda item: -scores[item])]
