from qwen_agentkit.utils.text.bm25 import SmallIndex, rank


def test_two_texts_still_rank():
    scores = rank("motor", ["the motor turns", "the car stands"])
    assert scores[0] > 0 and scores[1] == 0


def test_one_text_and_a_term_in_every_text_still_score():
    assert rank("motor", ["motor"])[0] > 0
    assert all(score > 0 for score in rank("motor", ["motor one", "motor two", "motor three"]))


def test_nothing_to_rank_is_no_error():
    assert rank("motor", []) == []
    assert rank("motor", ["", "  "]) == [0.0, 0.0]
    assert rank("", ["motor"]) == [0.0]


def test_a_text_about_the_question_comes_first_in_either_language():
    texts = ["电池的保修期为12个月。", "电动机的保修期为27个月。", "The battery is guaranteed for 12 months."]
    index = SmallIndex(texts)
    assert max(range(3), key=index.scores("电动机保修多久？").__getitem__) == 1
    assert max(range(3), key=index.scores("How long is the battery guaranteed?").__getitem__) == 2
