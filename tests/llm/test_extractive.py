"""The model that only quotes."""

import pytest

from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.utils.knowledge import Passage, write_knowledge

PASSAGES = [
    Passage(1, "/d/handbook.pdf", "Page 3\nThe pump weighs 12 kg. It runs quietly.", page=3, section="Pump", start=500),
    Passage(
        2,
        "/d/handbook.pdf",
        "Warranty\n\nThe motor is guaranteed for\n27 months from the date of purchase. Wear is not covered.",
        page=7,
        section="Warranty",
        start=900,
    ),
    Passage(3, "/d/zh.pdf", "电机自购买之日起保修二十七个月。水泵保修一年。", page=2, start=0),
]


def ask(question, passages=PASSAGES, **kwargs):
    model = get_chat_model({"model_type": "extractive"})
    prompt = [{"role": "system", "content": write_knowledge(passages)}] if passages else []
    return model.chat([*prompt, {"role": "user", "content": question}], stream=False, **kwargs)[-1]


def test_it_quotes_the_sentence_that_answers_with_its_place():
    answer = ask("How long is the motor guaranteed?")
    assert (
        answer["content"].splitlines()[0].startswith("The motor is guaranteed for 27 months from the date of purchase.")
    )
    citation = answer["extra"]["citations"][0]
    assert (citation["n"], citation["page"], citation["section"]) == (1, 7, "Warranty")
    assert citation["quote"] == "The motor is guaranteed for\n27 months from the date of purchase."
    assert PASSAGES[1].text[citation["start"] - 900 : citation["end"] - 900] == citation["quote"]
    assert answer["extra"]["answered"] is True


def test_it_answers_a_chinese_question():
    answer = ask("电机保修多久？")
    assert "电机自购买之日起保修二十七个月。 [1]" in answer["content"]
    assert answer["extra"]["citations"][0]["source"] == "/d/zh.pdf"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who won the chess match in Reykjavik?", "do not answer"),
        ("谁赢得了国际象棋比赛？", "没有回答"),
        ("hi", "do not answer"),
    ],
)
def test_it_declines_what_the_documents_do_not_say(question, said):
    answer = ask(question)
    assert said in answer["content"] and answer["extra"]["answered"] is False and "citations" not in answer["extra"]


def test_without_documents_it_says_so():
    assert "no documents" in ask("What is the time?", passages=[])["content"]


def test_every_mark_in_the_text_has_its_citation_and_streaming_gives_the_same():
    model = get_chat_model({"model_type": "extractive"})
    messages = [
        {"role": "system", "content": write_knowledge(PASSAGES)},
        {"role": "user", "content": "What does the pump weigh?"},
    ]
    streamed = list(model.chat(messages, stream=True))[-1][-1]
    whole = model.chat(messages, stream=False)[-1]
    assert streamed["content"] == whole["content"] and streamed["extra"]["citations"] == whole["extra"]["citations"]
    assert [f"[{citation['n']}]" in whole["content"] for citation in whole["extra"]["citations"]].count(False) == 0


def test_it_never_calls_a_tool():
    function = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {}}}
    answer = ask("How long is the motor guaranteed?", functions=[function])
    assert "27 months" in answer["content"] and "function_call" not in answer


@pytest.mark.parametrize(
    ("question", "lang"), [("How long is the motor guaranteed?", "en"), ("电机自购买之日起保修多久？", "zh")]
)
def test_a_document_in_the_question_s_own_message_is_not_part_of_the_question(question, lang):
    content = [{"text": question}, {"file": "/d/A guide (2nd).md"}, {"file": "/d/b.pdf"}]
    answer = ask(content, extra_generate_cfg={"lang": lang})
    assert answer["extra"]["answered"] is True
    assert answer["extra"]["citations"] == ask(question, extra_generate_cfg={"lang": lang})["extra"]["citations"]
