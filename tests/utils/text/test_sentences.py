from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.utils.text.sentences import split_sentences


def sentences(text):
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Pi is 3.14 in short.",
        "It stands, e.g. in Fig. 3, as Dr. J. R. Smith said.",
        "See https://a.b/c?d=e.f for more.",
        "He lives in the U.S. and works.",
        "Write to bob@example.com or v2.3.1 users.",
        "A wrapped\nline goes on.",
    ],
)
def test_one_sentence_stays_one(text):
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("保修期为27个月。电机除外；电池12个月！最后", ["保修期为27个月。", "电机除外；", "电池12个月！", "最后"]),
        ("他说：“好。”她走了。", ["他说：“好。”", "她走了。"]),
        ("It fell.[12] Then it rose.", ["It fell.[12]", "Then it rose."]),
        ("First\n\nSecond", ["First", "Second"]),
        ("# Title\nText here.\n- a\n- b", ["# Title", "Text here.", "- a", "- b"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("3. Open the lid. Close it.", ["3. Open the lid.", "Close it."]),
        ('"Really?" he asked. "No."', ['"Really?" he asked.', '"No."']),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, wanted):
    assert sentences(text) == wanted


@given(st.text(alphabet="aA1.。！?\n |#-“”；e.g ", max_size=200))
def test_sentences_cover_all_but_the_blanks_in_order(text):
    spans = split_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert "".join(text[start:end] for start, end in spans).replace(" ", "").replace("\n", "") == text.replace(
        " ", ""
    ).replace("\n", "")
