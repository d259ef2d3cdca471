"""Stop words in a streamed text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.llm.stop_words import StopWords, stop_list


def passed(words, pieces):
    stop = StopWords(words)
    text = "".join(stop.feed(piece) for piece in pieces) + stop.finish()
    return text, stop.found


def expected(words, text):
    hits = [(text.find(word), -len(word), word) for word in words if word in text]
    if not hits:
        return text, None
    start, _, word = min(hits)
    return text[:start], word


def test_a_text_is_one_word_and_not_its_letters():
    assert stop_list("END") == ["END"]
    assert passed("END", ["HELLO END world"]) == ("HELLO ", "END")


def test_lists_are_united_without_repeats():
    assert stop_list(["a", "b"], None, "b", ["c", ""]) == ["a", "b", "c"]


def test_a_stop_word_that_is_no_text_is_named():
    with pytest.raises(ValueError, match="7"):
        stop_list([7])


def test_a_word_is_found_across_pieces():
    assert passed(["Observation:"], ["abc Obser", "va", "tion: x"]) == ("abc ", "Observation:")


def test_the_beginning_of_a_word_at_the_end_is_not_eaten():
    assert passed(["Observation:"], ["My last word is Observation"]) == ("My last word is Observation", None)


def test_the_earliest_place_wins_and_not_the_order_of_the_list():
    assert passed(["late", "early"], ["an early and a late one"]) == ("an ", "early")


def test_nothing_comes_after_a_stop_word():
    stop = StopWords(["x"])
    assert stop.feed("axb") == "a"
    assert stop.feed("more") == ""
    assert stop.finish() == ""


def test_without_words_everything_passes_at_once():
    stop = StopWords([])
    assert stop.feed("abc") == "abc"


words = st.lists(st.text("ab:", min_size=1, max_size=4), min_size=1, max_size=4)


@given(words, st.lists(st.text("ab:x", max_size=5), max_size=12))
def test_any_cutting_gives_what_the_whole_text_gives(words, pieces):
    text, found = passed(words, pieces)
    wanted, word = expected(words, "".join(pieces))
    assert text == wanted
    assert (found is None) == (word is None)


@given(words, st.lists(st.text("ab:x", max_size=5), max_size=12))
def test_text_that_cannot_begin_a_word_is_not_held_back(words, pieces):
    stop = StopWords(words)
    fed = given_out = ""
    for piece in pieces:
        fed += piece
        given_out += stop.feed(piece)
        if stop.found is None:
            assert len(fed) - len(given_out) < max(map(len, words)) * 2
            assert fed.startswith(given_out)
