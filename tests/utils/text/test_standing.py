"""How far the best score stands out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.utils.text.standing import lead_of, standing_of

SCORES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)


def test_a_lead_is_told_as_a_share_of_the_best_score():
    assert lead_of([0.2, 0.8, 0.4]) == [0.8, 0.5, pytest.approx(1 - 0.3 / 0.8), 0.0]


def test_a_score_without_others_says_that_it_is_alone():
    assert lead_of([0.7])[3] == 1.0
    assert standing_of([0.7])[-1] == 1.0


def test_scores_that_fall_evenly_with_the_logarithm_of_the_rank_do_not_stand_out():
    even = [0.5 - 0.1 * math.log(rank) for rank in range(1, 21)]
    excess, ratio, too_few = standing_of(even)[-3:]
    assert (excess, ratio, too_few) == (pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9), 0.0)


def test_an_answer_stands_above_the_line_of_the_others_however_many_there_are():
    for many in (6, 20, 40):
        others = [0.3 - 0.05 * math.log(rank) for rank in range(2, many + 1)]
        assert standing_of([0.6, *others])[-3] == pytest.approx(0.3)


@given(SCORES)
def test_any_scores_in_any_order_are_described_by_the_same_finite_numbers(scores):
    described = standing_of(scores)
    assert len(described) == 7
    assert all(math.isfinite(value) for value in described)
    assert described == standing_of(sorted(scores))
