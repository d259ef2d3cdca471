import pytest

from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.text.answer import best_sentences
from qwen_agentkit.utils.text.question import asks_nothing, edit_distance, fits, nearest_terms, read_question

ENGLISH = """# Warranty

The motor is guaranteed for 27 months from the date of purchase. Damage by water is not covered.

# Cleaning

Clean the filter every two weeks. Use no alcohol. Never open the housing while the pump runs.

# Questions

How do I reset the pump?

Hold the red button for five seconds until the light blinks.
The KX-41 weighs 3.4 kg and was designed in Oslo by Anna Berg."""

CHINESE = (
    "电动机自购买之日起保修27个月。电池保修12个月；进水损坏不在保修范围内。每两周清洗一次滤网。"
    "请勿使用酒精。KX-41重3.4公斤，由安娜在奥斯陆设计。"
)


def answer(question, *texts):
    return best_sentences(question, [Passage(n, "a", text) for n, text in enumerate(texts or (ENGLISH, CHINESE), 1)])


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How long is the motor guaranteed?", "27 months"),
        ("how long is the moter garanteed", "27 months"),
        ("Who designed the KX-41?", "Anna Berg"),
        ("How often must I clean the filter?", "two weeks"),
        ("Is damage by water covered?", "not covered"),
        ("kx41 weight", "3.4 kg"),
        ("电动机保修多久？", "27个月"),
        ("多久清洗一次滤网？", "每两周"),
        ("誰設計了KX-41？", "安娜"),
    ],
)
def test_the_sentence_that_answers_is_quoted_best(question, part):
    found = answer(question, CHINESE if any(c > "\u2e80" for c in question) else ENGLISH)
    assert found.answered and found.confidence >= 0.5
    assert part in found.best.text


@pytest.mark.parametrize(
    "question",
    [
        "hi",
        "Hello there!",
        "thanks",
        "谢谢",
        "你好！",
        "???",
        "",
        "What is the capital of France?",
        "法国的首都是哪里？",
    ],
)
def test_what_the_passages_do_not_answer_is_declined(question):
    found = answer(question)
    assert not found.answered and found.sentences == [] and found.confidence < 0.5


@pytest.mark.parametrize("question", ["电机的保修期有多长？", "电机保修多久？", "电机的保修期是多少年？"])
def test_a_duration_is_found_whatever_words_ask_for_it(question):
    found = answer(question, "电机自购买之日起保修五年")
    assert found.answered and found.best.text == "电机自购买之日起保修五年"
    assert not answer(question.replace("电机", "电池"), "电机自购买之日起保修五年").answered
    assert not answer("电机的重量是多少？", "电机自购买之日起保修五年").answered


def test_the_line_under_a_printed_question_answers_it():
    found = answer("How do I reset the pump?", ENGLISH)
    assert "Hold the red button" in " ".join(quote.text for quote in found.sentences)
    assert all(not quote.text.endswith("?") for quote in found.sentences)


def test_quotes_stand_where_they_say_and_in_reading_order():
    found = answer("motor KX-41 filter guaranteed clean weighs")
    places = [(quote.n, quote.start) for quote in found.sentences]
    assert places == sorted(places)
    for quote in found.sentences:
        assert (ENGLISH, CHINESE)[quote.n - 1][quote.start : quote.end] == quote.text


def test_a_sentence_in_two_overlapping_passages_is_quoted_once():
    found = answer("How long is the motor guaranteed?", ENGLISH, ENGLISH)
    assert len({quote.text for quote in found.sentences}) == len(found.sentences)


def test_no_passages_answer_nothing():
    assert not best_sentences("How long?", []).answered
    with pytest.raises(ValueError, match="limit"):
        best_sentences("How long?", [], limit=0)


def test_a_question_tells_what_kind_of_answer_it_wants():
    kinds = {"When did it open?": "date", "How many months?": "number", "谁设计的？": "name", "在哪里？": "place"}
    assert {text: read_question(text).kind for text in kinds} == kinds
    assert read_question("What is a KX-41?").defined == "kx-41"
    assert "month" in read_question("How many months?").units


def test_small_talk_asks_nothing_but_a_word_does():
    assert asks_nothing("Hi, how are you?") and asks_nothing("谢谢你！")
    assert not asks_nothing("battery") and not asks_nothing("Hi, how long is the guarantee?")


def test_misspelt_words_are_mapped_to_the_nearest_one():
    assert nearest_terms(["garante", "motor"], {"guarante", "motor", "garage"}) == {"garante": "guarante"}
    assert nearest_terms(["cat"], {"car"}) == {}
    assert edit_distance("abcd", "abdc", 1) == 1 and edit_distance("abcd", "wxyz", 2) == 3


def test_a_heading_is_no_quote_but_what_stands_under_it_is():
    passage = Passage(
        1, "a", "The app\n\nIt shows range and rides.\n\nCharging\n\nUse the charger.", section="Riding > The app"
    )
    found = best_sentences("Is there an app?", [passage, Passage(2, "b", CHINESE)])
    assert "The app" not in [quote.text for quote in found.sentences]


def test_the_head_of_a_table_is_no_quote_but_helps_its_rows():
    table = "| Part | Warranty |\n| --- | --- |\n| Motor | 27 months |\n| Paint | 1 year |"
    found = best_sentences("What warranty does the paint have?", [Passage(1, "a", table), Passage(2, "b", CHINESE)])
    assert found.answered and found.best.text == "| Paint | 1 year |"
    assert all("---" not in quote.text and "Part" not in quote.text for quote in found.sentences)


def test_what_the_search_says_of_its_best_passage_makes_the_answer_surer_or_less_sure():
    texts = [CHINESE, ENGLISH, *(f"The pump of kind {letter} is sold in boxes." for letter in "ABCDEF")]

    def confidence(best, searcher="keyword"):
        scores = [0.1, best, 0.12, 0.11, 0.1, 0.09, 0.08, 0.07]
        passages = [
            Passage(n, "a", text, score=score, searcher=searcher)
            for n, (text, score) in enumerate(zip(texts, scores, strict=True), 1)
        ]
        return best_sentences("How long is the motor guaranteed?", passages).confidence

    assert confidence(0.9) > 0.9 > confidence(0.13)
    # Of other searches nothing is known but the order.
    assert confidence(0.9, "hybrid") == confidence(0.13, "hybrid")


PRICES = """| Article | Order number | Retail price |
| --- | --- | --- |
| Lamp L-3 | 20-614 | 549 |
| Charger C-4 | 20-041 | 89 |"""
CARE = """1. Switch the lamp off.
2. Put the charger on a dry table.
3. Plug the charger into a socket.

Keep the charger between 5 and 40 °C."""


@pytest.mark.parametrize(
    "question", ["What does the charger cost?", "How much is the charger?", "What is the price of the charger?"]
)
def test_a_price_is_found_in_a_table_and_not_taken_from_other_numbers(question):
    assert "89" in answer(question, ENGLISH, CARE, PRICES).best.text


def test_the_number_of_a_list_item_is_no_number_that_is_asked_for():
    asked = read_question("How many chargers are there?")
    assert not fits(asked, "3. Plug the charger into a socket.")
    assert fits(asked, "3. Plug the 2 chargers into a socket.")
