"""Names of agents in text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.agents.group.names import mentions_in, names_in, same_name

TEAM = ["A", "Ann", "Senior_Engineer", "Tang Xiao", "小明", "小明明"]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Ann", ["Ann"]),
        ("The next speaker is Ann.", ["Ann"]),
        ("**Ann**", ["Ann"]),
        ("ann", ["Ann"]),
        ("Annual planning comes first", []),
        ("Senior_Engineer", ["Senior_Engineer"]),
        (r"Senior\_Engineer", ["Senior_Engineer"]),
        ("senior engineer, please", ["Senior_Engineer"]),
        ("'Tang Xiao'", ["Tang Xiao"]),
        ("tang_xiao", ["Tang Xiao"]),
        ("下一位是小明。", ["小明"]),
        ("请小明明发言", ["小明明"]),
        ("Ann or Tang Xiao", ["Ann", "Tang Xiao"]),
        ("somebody else", []),
        ("", []),
    ],
)
def test_a_models_answer_is_read_for_whole_names_exactly_first_and_then_folded(answer, found):
    assert names_in(answer, TEAM) == found


def test_an_exact_name_beats_one_that_only_folds_alike():
    assert names_in("BOB", ["bob", "BOB"]) == ["BOB"]
    assert same_name("BOB", ["bob", "BOB"]) == "BOB"
    assert same_name("Bob", ["bob", "BOB"]) is None


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("@Ann hi", ["Ann"]),
        ("@A @A hi", ["A"]),
        ("hello @Tang Xiao and @A!", ["Tang Xiao", "A"]),
        ("@Anna is not here", []),
        ("write to me@Ann.org", []),
        ("你好@小明，请发言", ["小明"]),
        ("@小明明你好", ["小明明"]),
        ("@ann", ["Ann"]),
        ("Ann without the sign", []),
        ("@nobody", []),
    ],
)
def test_who_is_called_with_an_at_sign(text, called):
    assert mentions_in(text, TEAM) == called


@given(st.text(max_size=40), st.lists(st.text(min_size=1, max_size=8).filter(str.strip), max_size=5, unique=True))
def test_only_given_names_are_ever_found(text, names):
    assert set(names_in(text, names)) <= set(names)
    assert set(mentions_in(text, names)) <= set(names)


@given(st.lists(st.text("abcXYZ_小明", min_size=1, max_size=8), min_size=1, max_size=5, unique=True))
def test_a_name_alone_is_always_understood(names):
    for name in names:
        assert same_name(name, names) == name
