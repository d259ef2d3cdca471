"""What an answer rests on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.rag.citations import citation_numbers, ground
from qwen_agentkit.utils.knowledge import Passage

PASSAGES = [
    Passage(1, "a.pdf", "The pump weighs 12 kg. It runs quietly.", page=2, page_end=2, start=100, end=139),
    Passage(2, "b.pdf", "The motor is guaranteed for\n27 months from the date of purchase.", page=7, start=0, end=64),
    Passage(3, "c.pdf", "电机自购买之日起保修27个月。水泵保修12个月。", page=3, start=10, end=34),
]


def test_a_mark_becomes_a_citation_with_the_sentence_it_rests_on():
    grounding = ground("The guarantee of the motor is 27 months from purchase. [2]", PASSAGES)
    (citation,) = grounding.citations
    assert (citation["n"], citation["source"], citation["page"]) == (2, "b.pdf", 7)
    assert citation["quote"] == PASSAGES[1].text and citation["start"] == 0
    assert grounding.answered and grounding.unsupported == []


def test_a_quote_is_matched_over_line_breaks_and_its_offsets_are_those_of_the_document():
    grounding = ground(
        "It says: guaranteed for 27 months from the date of purchase [2]. The pump weighs 12 kg [1].", PASSAGES
    )
    by_number = {citation["n"]: citation for citation in grounding.citations}
    assert by_number[1]["quote"] == "The pump weighs 12 kg" and by_number[1]["start"] == 100
    assert by_number[1]["end"] == 121


def test_chinese_answers_are_matched():
    grounding = ground("电机的保修期是27个月[3]。", PASSAGES)
    assert grounding.citations[0]["quote"].startswith("电机自购买之日起保修27个月") and grounding.answered


def test_marks_of_every_form_are_read():
    for text in (
        "It runs quietly [1][2].",
        "It runs quietly [1, 2].",
        "It runs quietly【1】【2】",
        "It runs quietly. [^1] [2]",
    ):
        assert [citation["n"] for citation in ground(text, PASSAGES).citations] == [1, 2], text
    assert ground("See [1](https://example.org) for more on it.", PASSAGES).citations == []


def test_a_number_that_is_not_there_cites_nothing():
    assert ground("It runs quietly [9].", PASSAGES).citations == []


def test_what_no_passage_bears_out_is_listed_with_its_place():
    answer = "The pump weighs 12 kg [1]. Its colour is a deep ocean blue with silver stripes."
    grounding = ground(answer, PASSAGES)
    (missing,) = grounding.unsupported
    assert answer[missing["start"] : missing["end"]].strip().startswith("Its colour") and missing["support"] < 0.5
    assert grounding.answered


def test_a_figure_that_stands_nowhere_is_not_supported():
    assert ground("The pump weighs 19 kg and it runs quietly [1].", PASSAGES).unsupported


@pytest.mark.parametrize(
    "passage, contrary, same",
    [
        ("The motor is guaranteed for 27 months.", "The motor is not guaranteed for 27 months.", "motor is guaranteed"),
        (
            "The warranty does not cover water damage.",
            "The warranty covers water damage.",
            "doesn't cover water damage",
        ),
        ("电机保修期内可以免费更换零件。", "电机保修期内不可以免费更换零件。", "电机保修期内可以免费更换零件"),
        ("泵進水之後沒有保修。", "泵進水之後有保修。", "泵进水之后没有保修"),
    ],
)
def test_the_contrary_in_nearly_the_same_words_is_not_supported(passage, contrary, same):
    passages = [Passage(1, "a.txt", passage)]
    refused = ground(f"{contrary} [1]", passages)
    assert not refused.answered and refused.unsupported[0]["support"] < 0.5
    assert ground(f"{same} [1]", passages).answered


def test_an_answer_that_rests_on_nothing_is_no_answer():
    assert ground("I am sorry, nothing is said about the delivery address there.", PASSAGES).answered is False


MOTOR = Passage(
    1,
    "handbook.pdf",
    "The motor is guaranteed for 27 months from\nthe date of purchase. Damage by water is not covered.",
    page=7,
    section="Warranty",
    start=100,
    end=196,
)
CLEANING = Passage(2, "handbook.pdf", "Clean the filter every two weeks. Anna Berg designed the pump in Oslo.", page=9)
CHINESE = Passage(3, "手册.pdf", "电动机自购买之日起保修27个月。进水损坏不在保修范围内。", page=2)
HANDBOOK = [MOTOR, CLEANING, CHINESE]


def test_a_mark_becomes_a_citation_with_the_quote_as_it_stands():
    cited = ground("The motor is guaranteed for 27 months from the date of purchase. [1]", HANDBOOK)
    (citation,) = cited.citations
    assert citation["n"] == 1 and citation["page"] == 7 and citation["section"] == "Warranty"
    assert citation["quote"] == "The motor is guaranteed for 27 months from\nthe date of purchase"
    assert (citation["start"], citation["score"]) == (100, 1.0)
    assert cited.unsupported == []


def test_a_paraphrase_is_supported_by_the_sentence_that_says_it():
    cited = ground("The guarantee of the motor runs for 27 months after purchase [1].", HANDBOOK)
    assert cited.citations[0]["score"] >= 0.5
    assert cited.citations[0]["quote"].startswith("The motor is guaranteed")


@pytest.mark.parametrize(
    "wrong",
    [
        "The motor is guaranteed for 37 months from the date of purchase. [1]",
        "Peter Holm designed the pump in Oslo [2].",
        "The pump can be used under water at any depth you like [1].",
        "电动机自购买之日起保修37个月。[3]",
    ],
)
def test_a_wrong_number_name_or_claim_is_unsupported(wrong):
    cited = ground(wrong, HANDBOOK)
    assert len(cited.unsupported) == 1 and cited.unsupported[0]["support"] < 0.5
    assert wrong[cited.unsupported[0]["start"] :].startswith(cited.unsupported[0]["text"][:10])


def test_each_sentence_keeps_its_own_marks():
    answer = "The motor is guaranteed for 27 months from the date of purchase. [1] Clean the filter every two weeks.[2]"
    cited = ground(answer, HANDBOOK)
    assert [sentence.cited for sentence in cited.sentences] == [(1,), (2,)]
    assert [citation["n"] for citation in cited.citations] == [1, 2]


def test_chinese_marks_and_sentences_are_understood():
    cited = ground("电动机的保修期为27个月【3】。进水损坏不在保修范围内［3］。", HANDBOOK)
    assert [citation["page"] for citation in cited.citations] == [2, 2]
    assert cited.unsupported == []


def test_an_answer_without_marks_is_given_its_citations():
    cited = ground("Anna Berg designed the pump in Oslo.", HANDBOOK)
    assert [citation["n"] for citation in cited.citations] == [2]


def test_what_claims_nothing_needs_no_support():
    cited = ground("Here is what I found:\n\nSure!\n\n# Warranty", HANDBOOK)
    assert cited.unsupported == [] and cited.citations == []


def test_an_unknown_number_cites_nothing():
    cited = ground("The moon is made of green cheese and stars [9].", HANDBOOK)
    assert cited.citations == [] and len(cited.unsupported) == 1
    assert ground("", HANDBOOK).sentences == [] and ground("Anything at all here [1].", []).citations == []


def test_numbers_of_marks_are_read_in_all_their_forms():
    assert citation_numbers("a [1] b [2, 3] c [5-7] d 【9】 e [1] f [see](x) [2](http://a)") == [1, 2, 3, 5, 6, 7, 9]


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
def test_any_answer_and_any_passages_are_borne(answer, texts):
    passages = [Passage(n, "s", text, start=0, end=len(text)) for n, text in enumerate(texts, 1)]
    grounding = ground(answer, passages)
    for citation in grounding.citations:
        assert 1 <= citation["n"] <= len(passages) and 0.0 <= citation["score"] <= 1.0
