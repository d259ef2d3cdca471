import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.utils.text.folding import fold, fold_in_place
from qwen_agentkit.utils.text.hanzi import SIMPLIFIED
from qwen_agentkit.utils.text.segment import query_terms, query_weights, segment


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The KX-41 pump", "KX-41"),
        ("The KX-41 pump", "kx41"),
        ("The KX41 pump", "KX 41"),
        ("call snake_case(x)", "snake_case"),
        ("call snake_case(x)", "snake"),
        ("use getUserName()", "user name"),
        ("release v2.3.1 is out", "v2.3.1"),
        ("release v2.3.1 is out", "2.3"),
        ("see q3_sales.xlsx", "q3_sales"),
        ("see q3_sales.xlsx", "sales"),
        ("costs 1,000 euros", "1000"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("café", "cafe"),
        ("the U.S. army", "US"),
        ("running motors", "run motor"),
        ("電動機的保修期", "电动机保修期"),
        ("软件", "軟件"),
        ("東京タワー", "タワー"),
        ("한국어 문서", "문서"),
        ("ask bob@example.com", "example.com"),
        ("C++ and C#", "c++"),
        ("company\u2019s motor", "company's"),
    ],
)
def test_another_spelling_or_a_part_is_found(written, asked):
    held = set(segment(written))
    assert held & set(query_terms(asked)), (held, query_terms(asked))


def test_a_whole_code_is_one_term_and_its_parts_are_others():
    assert segment("KX-41") == ["kx-41", "kx41", "kx", "41"]
    assert set(segment("v2.3.1")) >= {"v2.3.1", "2", "3"}
    assert segment("snake_case")[0] == "snake_case"


def test_stop_words_are_left_out_but_names_in_capitals_stay():
    assert segment("this is it") == []
    assert "it" in segment("the IT department")
    assert "and" not in segment("TERMS AND CONDITIONS")


def test_a_query_of_stop_words_still_asks_for_something():
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert query_terms("") == []


def test_chinese_is_cut_into_characters_and_pairs():
    assert segment("电动机") == ["电", "电动", "动", "动机", "机"]


def test_what_only_asks_is_taken_out_of_a_query():
    assert "什么" not in query_terms("电动机的保修期是什么时候？")
    assert "how" not in query_terms("How long is the guarantee?")


def test_each_query_term_has_a_weight():
    assert all(weight > 0 for weight in query_weights("KX-41 的 保修期").values())


def test_folding_to_simplified_is_stable():
    assert all(SIMPLIFIED.get(simple, simple) == simple for simple in SIMPLIFIED.values())


@given(st.text(max_size=300))
def test_any_text_is_cut_the_same_way_twice(text):
    terms = segment(text)
    assert terms == segment(text)
    assert all(term and len(term) <= 80 and not term.isspace() for term in terms)


@given(st.text(max_size=300))
def test_folding_in_place_keeps_every_place(text):
    assert len(fold_in_place(text)) == len(text)


@given(st.text(alphabet="ABCdef 123-_.电動機ｆｕ", max_size=60))
def test_folded_text_has_the_terms_of_the_text(text):
    assert segment(fold(text)) == segment(text)
