import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.utils import tokenization_qwen
from qwen_agentkit.utils.tokenization_qwen import QWenTokenizer, count_tokens, tokenizer


def test_a_known_text_has_the_tokens_of_qwens_vocabulary():
    assert tokenizer.encode("Hello, world") == [9707, 11, 1879]
    assert count_tokens("12345") == 5  # digits stand alone
    assert count_tokens("") == 0


def test_control_tokens_in_a_text_are_plain_text():
    assert count_tokens("<|im_end|>") > 1


def test_a_long_text_is_encoded_in_parts_with_the_same_tokens():
    text = "A sentence of seven words and more. " * 4000
    assert tokenizer.encode(text) == tokenizer._load().encode_ordinary(text)


def test_a_huge_word_does_not_overflow():
    assert count_tokens("a" * 300_000) > 1000


def test_a_cut_leaves_no_broken_character():
    text = "天气很好😀😀😀"
    for limit in range(1, 20):
        cut = tokenizer.truncate(text, limit)
        assert text.startswith(cut) and "\ufffd" not in cut


def test_both_ends_are_kept_when_asked_for():
    text = " ".join(str(number) for number in range(500))
    cut = tokenizer.truncate(text, 60, keep_both_sides=True)
    assert cut.startswith("0 1 2") and cut.endswith("499") and "..." in cut
    assert count_tokens(cut) <= 60


def test_the_start_can_be_skipped():
    assert tokenizer.truncate("one two three four", 2, start_token=1) == " two three"


@given(st.text(max_size=200))
def test_decoding_gives_the_composed_text_back(text):
    assert tokenizer.decode(tokenizer.encode(text)) == tokenization_qwen._composed(text)


@given(st.text(max_size=100), st.integers(-1, 30), st.booleans())
def test_a_cut_is_never_longer_than_asked(text, limit, both):
    # Joining a cut anew may merge tokens otherwise; one more is the most that was ever seen.
    assert count_tokens(tokenizer.truncate(text, limit, keep_both_sides=both)) <= max(0, limit) + 2


def test_without_the_vocabulary_counts_are_estimates_with_one_warning(monkeypatch, caplog):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    estimating = QWenTokenizer()
    with caplog.at_level("WARNING"):
        assert 5 <= estimating.count_tokens("The motor is guaranteed for 27 months.") <= 15
        assert 3 <= estimating.count_tokens("电动机保修二十七个月") <= 12
    assert len(caplog.records) == 1
    assert estimating.truncate("one two three", 2) == "one two"
    with pytest.raises(MissingDependencyError, match="dashscope"):
        estimating.encode("one")
