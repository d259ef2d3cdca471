"""Sentences leave as they are complete."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.speech import SpokenSentences


def cut(text, size=1, shortest=10):
    held = SpokenSentences(shortest)
    pieces = []
    for start in range(0, len(text), size):
        pieces += held.feed(text[start : start + size])
    return pieces, held.flush()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The value is 3.14 today. It was less before.", ["The value is 3.14 today.", "It was less before."]),
        ("Take fruit, e.g. apples. Leave the rest.", ["Take fruit, e.g. apples.", "Leave the rest."]),
        ("See https://example.org/a.b?c=d! Then come back.", ["See https://example.org/a.b?c=d!", "Then come back."]),
        ("Ask Dr. Meyer about the motor. He knows.", ["Ask Dr. Meyer about the motor.", "He knows."]),
        ("Yes. No. That is all there is.", ["Yes. No. That is all there is."]),
        (
            "今天的天气非常好，我们去公园。明天可能会下雨，带上雨伞！",
            ["今天的天气非常好，我们去公园。", "明天可能会下雨，带上雨伞！"],
        ),
        ("One line without an end", ["One line without an end"]),
    ],
)
def test_text_is_cut_at_sentences_however_it_comes(text, pieces):
    for size in (1, 3, len(text)):
        early, late = cut(text, size)
        assert early + late == pieces


def test_a_chinese_sentence_leaves_with_its_last_sign():
    assert SpokenSentences().feed("今天的天气非常好，我们去公园。") == ["今天的天气非常好，我们去公园。"]


def test_a_latin_sentence_leaves_when_the_next_begins_or_after_a_pause():
    held = SpokenSentences()
    assert held.feed("The motor is old.") == []
    assert held.feed(" I") == ["The motor is old."]
    held = SpokenSentences()
    held.feed("The motor is old.")
    assert held.pause() == ["The motor is old."]
    assert held.pause() == [] and held.flush() == []


@pytest.mark.parametrize(
    "text", ["The value of pi is 3.", "Things to eat, e.g.", "This was said by Dr.", "Well.", "An open"]
)
def test_a_pause_does_not_end_what_may_go_on(text):
    held = SpokenSentences()
    held.feed(text)
    assert held.pause() == []
    assert held.flush() == [text]


@given(st.lists(st.text("ab .。!？\n3e中", max_size=12), max_size=20), st.integers(1, 20))
def test_nothing_is_lost_or_said_twice(texts, shortest):
    held = SpokenSentences(shortest)
    pieces = []
    for number, text in enumerate(texts):
        pieces += held.feed(text)
        if number % 3 == 0:
            pieces += held.pause()
    early, late = list(pieces), held.flush()
    assert "".join("".join(early + late).split()) == "".join("".join(texts).split())
    assert all(len(piece) >= shortest for piece in early)


def test_the_shortest_piece_has_a_character():
    with pytest.raises(ValueError, match="at least 1"):
        SpokenSentences(0)
