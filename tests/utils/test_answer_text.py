"""What an agent says as one growing text."""

from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.schema import Message
from qwen_agentkit.utils.answer_text import AnswerText, answer_of


def said(*responses, names=False):
    answer = AnswerText(names)
    return [piece for response in responses for piece in answer.grow(response)]


def test_growth_is_told_and_messages_stand_apart():
    first = Message("assistant", "One")
    grown = Message("assistant", "One two")
    pieces = said([first], [grown], [grown, Message("assistant", "Three")])
    assert pieces == [("text", "One"), ("text", " two"), ("text", "\n\nThree")]


def test_thinking_is_apart_and_calls_and_results_are_left_out():
    call = Message("assistant", "", function_call={"name": "f", "arguments": "{}"})
    result = Message("function", "a result", name="f")
    thought = Message("assistant", "", "Hm.")
    assert said([thought, call, result, Message("assistant", "Done.")]) == [("reasoning", "Hm."), ("text", "Done.")]


def test_what_was_overwritten_is_said_again_as_a_whole():
    assert said([Message("assistant", "Wrong")], [Message("assistant", "Right")]) == [
        ("text", "Wrong"),
        ("text", "\n\nRight"),
    ]


def test_a_speaker_is_named_when_it_changes():
    response = [Message("assistant", text, name=name) for text, name in (("a", "Mia"), ("b", "Mia"), ("c", "Ken"))]
    assert answer_of(response, with_names=True) == "Mia: a\n\nb\n\nKen: c"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_pieces_join_to_the_answer_of_the_whole(texts):
    messages, pieces, answer = [], "", AnswerText()
    for text in texts:
        for end in range(1, len(text) + 1):
            grown = [*messages, Message("assistant", text[:end])]
            pieces += "".join(piece for _, piece in answer.grow(grown))
        messages = [*messages, Message("assistant", text)]
    assert pieces == answer.text == answer_of(messages) == "\n\n".join(texts)
