"""How far the best passage of a search stands out from the rest, told from the scores of the search alone.

A search knows the whole index, the passages of a prompt only themselves. Of a question that nothing answers the scores
fall evenly with the logarithm of the rank, however many passages there are; an answer stands above that line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Where there are no others to tell, the first one is taken to lead them by this share of itself.
USUAL_LEAD = 0.5
# The line is laid through these ranks; less than four scores make none.
_FIRST_RANK, _LAST_RANK = 3, 20
_LEAST_SCORES = 4
_LEAST_RATIO, _LEAST_EXPECTED = 0.3, 1e-3


def lead_of(scores: Sequence[float]) -> list[float]:
    """How far the best score leads.

    Returns:
        The best one; its lead over the second, and over the mean of the next five, as shares of it; 1.0 where it is
        alone, else 0.0.
    """
    found = sorted(scores, reverse=True)
    top, rest = found[0], found[1:6]
    if not rest or top <= 0:
        return [top, USUAL_LEAD / 2, USUAL_LEAD, 1.0]
    return [top, (top - rest[0]) / top, 1 - sum(rest) / len(rest) / top, 0.0]


def standing_of(scores: Sequence[float]) -> list[float]:
    """Describes the best score of a search.

    Args:
        scores: The scores of what was found, each a share, 0.0 to 1.0; the order does not matter.

    Returns:
        What `lead_of` gives; how far the best score is above what the others let expect of a first one; the logarithm
        of its ratio to that; 1.0 where they are too few to tell, else 0.0.
    """
    found = sorted(scores, reverse=True)
    if len(found) < _LEAST_SCORES:
        return [*lead_of(found), 0.0, 0.0, 1.0]
    expected = _at_first_rank(found)
    ratio = max(found[0] / max(expected, _LEAST_EXPECTED), _LEAST_RATIO)
    return [*lead_of(found), found[0] - expected, math.log(ratio), 0.0]


def _at_first_rank(found: Sequence[float]) -> float:
    """The score at rank 1 of the line, over the logarithm of the rank, that is nearest to the later ones."""
    scores = found[_FIRST_RANK - 1 : _LAST_RANK]
    places = [math.log(rank) for rank in range(_FIRST_RANK, _FIRST_RANK + len(scores))]
    place, score = sum(places) / len(places), sum(scores) / len(scores)
    slope = sum((x - place) * (y - score) for x, y in zip(places, scores, strict=True))
    return score - place * slope / sum((x - place) ** 2 for x in places)
