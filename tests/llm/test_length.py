"""Counting tokens and fitting a conversation into a number of them."""

from __future__ import annotations

import base64
import struct
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.history import check_history, repair_history
from qwen_agentkit.llm.image_size import image_size
from qwen_agentkit.llm.length import (
    OMITTED,
    UNKNOWN_IMAGE_TOKENS,
    count_content_tokens,
    count_function_tokens,
    count_input_tokens,
    count_message_tokens,
    image_tokens,
    shorten_content,
    shorten_text,
    truncate_input,
)
from qwen_agentkit.schema import ContentItem, FunctionCall, Message

WORDS = ["the", "quick", "brown", "fox", "reads", "a", "handbook", "你好", "世界", "motor"]


def words(number: int) -> str:
    return " ".join(WORDS[i % len(WORDS)] for i in range(number))


def call(function_id: str, arguments: str = "{}") -> Message:
    return Message("assistant", "", function_call=FunctionCall("f", arguments), extra={"function_id": function_id})


def result(function_id: str, content) -> Message:
    return Message("function", content, name="f", extra={"function_id": function_id, "mine": 1})


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


def jpeg(width: int, height: int) -> bytes:
    head = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
    return head + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9


def webp(width: int, height: int) -> bytes:
    body = b"VP8X" + struct.pack("<I", 10) + b"\0" * 4
    return b"RIFF" + b"\0" * 4 + b"WEBP" + body + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")


@pytest.mark.parametrize(
    "data", [png(640, 480), jpeg(640, 480), b"GIF89a" + struct.pack("<HH", 640, 480), webp(640, 480)]
)
def test_the_size_of_an_image_is_read_from_its_beginning(data, tmp_path):
    path = tmp_path / "image"
    path.write_bytes(data)
    assert image_size(str(path)) == (640, 480)
    assert image_size(f"file://{path}") == (640, 480)
    assert image_size("data:image/x;base64," + base64.b64encode(data).decode()) == (640, 480)


@pytest.mark.parametrize("image", ["http://x/y.png", "no-such-file.png", "data:image/png;base64,???", "data:,", "a\0b"])
def test_an_image_that_cannot_be_read_has_no_size(image):
    assert image_size(image) is None
    assert image_tokens(image) == UNKNOWN_IMAGE_TOKENS


def test_an_image_counts_by_its_pixels(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(png(280, 280))
    assert image_tokens(str(path)) == 102


def test_texts_calls_and_images_count_and_past_thinking_does_not():
    plain = count_message_tokens(Message("user", words(50)))
    assert plain > 50
    assert count_message_tokens(Message("user", [ContentItem(text=words(50)), ContentItem(image="http://x")])) == (
        plain + UNKNOWN_IMAGE_TOKENS
    )
    thought = Message("assistant", "", words(50))
    assert count_message_tokens(thought) == plain
    assert count_input_tokens([thought]) < 10
    assert count_message_tokens(call("call_a", '{"x": "' + words(50) + '"}')) > 50


def test_schemas_of_tools_count():
    functions = [{"name": "f", "description": words(40), "parameters": {}}]
    assert count_function_tokens(functions) > 40
    assert count_input_tokens([], functions) == count_function_tokens(functions)


@pytest.mark.parametrize("tokens", [0, 1, 5, 20, 1000])
def test_a_shortened_text_keeps_both_ends_and_fits(tokens):
    text = "BEGIN " + words(300) + " END"
    shorter = shorten_text(text, tokens)
    assert count_content_tokens(shorter) <= tokens
    if tokens == 20:
        assert shorter.startswith("BEGIN") and shorter.endswith("END") and "..." in shorter
    if tokens == 1000:
        assert shorter == text


def test_of_content_with_an_image_the_text_goes_first():
    content = [ContentItem(text=words(500)), ContentItem(image="http://x/y.png")]
    shorter = shorten_content(content, UNKNOWN_IMAGE_TOKENS + 50)
    assert shorter[1].image == "http://x/y.png"
    assert count_content_tokens(shorter) <= UNKNOWN_IMAGE_TOKENS + 50
    assert count_content_tokens(shorten_content(content, 20)) <= 20
    assert content[0].text == words(500)


def test_a_conversation_that_fits_is_handed_on():
    messages = [Message("system", "s"), Message("user", "q")]
    assert truncate_input(messages, 1000) == messages
    assert truncate_input(messages, 0) == messages
    assert truncate_input([Message("user", words(5000))], -1)[0].content == words(5000)


def test_the_oldest_turns_go_first_and_whole():
    messages = [Message("system", "keep")]
    for number in range(10):
        messages += [Message("user", f"question {number} {words(100)}"), Message("assistant", words(100))]
    cut = truncate_input(messages, 900)
    assert cut[0].content == "keep"
    assert cut[-2] is messages[-2] and cut[-1] is messages[-1]
    assert count_input_tokens(cut) <= 900
    assert "question 0" not in str(cut)


def test_what_is_shortened_keeps_name_id_and_extra():
    messages = [Message("user", "q"), call("call_a"), result("call_a", words(3000))]
    cut = truncate_input(messages, 200)
    assert cut[2].name == "f"
    assert cut[2].extra == {"function_id": "call_a", "mine": 1}
    assert cut[2].content.startswith("the quick") and "..." in cut[2].content
    assert cut[1] is messages[1]


def test_results_of_earlier_steps_are_shortened_before_the_last_steps():
    messages = [
        Message("user", "q"),
        call("call_a"),
        result("call_a", words(400)),
        call("call_b"),
        result("call_b", words(400)),
    ]
    cut = truncate_input(messages, count_input_tokens(messages) - 200)
    assert len(cut) == 5
    assert cut[4] is messages[4] and cut[2].content != messages[2].content


def test_steps_in_the_middle_go_whole_before_the_last_step_is_touched():
    messages = [Message("user", "q")]
    for number in range(20):
        messages += [call(f"call_{number}x", '{"a": "' + words(40) + '"}'), result(f"call_{number}x", words(40))]
    cut = truncate_input(messages, 500)
    assert cut[0] is messages[0]
    assert cut[-1] is messages[-1] and cut[-2] is messages[-2]
    assert check_history(cut) == []


def test_the_only_users_message_survives_a_long_chain_of_tools():
    messages = [Message("user", "the task")]
    for number in range(20):
        messages += [call(f"call_{number}x"), result(f"call_{number}x", words(500))]
    assert truncate_input(messages, 300)[0].content == "the task"


def test_a_long_message_with_an_image_is_shortened():
    messages = [Message("user", [ContentItem(text=words(5000)), ContentItem(image="http://x/y.png")])]
    (cut,) = truncate_input(messages, 2000)
    assert cut.role == "user" and cut.content[1].image == "http://x/y.png"
    assert count_input_tokens([cut]) <= 2000


def test_a_call_is_never_turned_into_text():
    messages = [Message("user", words(50)), call("call_a", '{"x": "' + words(2000) + '"}'), result("call_a", "r")]
    cut = truncate_input(messages, 300)
    assert [m.role for m in cut] == ["user"]


def test_the_tools_schemas_are_part_of_the_budget():
    functions = [{"name": "f", "description": words(300), "parameters": {}}]
    messages = [Message("user", words(300))]
    cut = truncate_input(messages, 600, functions)
    assert count_input_tokens(cut, functions) <= 600
    assert cut[0].content != messages[0].content


@pytest.mark.parametrize("functions", [[], [{"name": "f", "description": words(300)}]])
def test_a_system_message_that_leaves_no_room_is_an_error_that_says_so(functions):
    messages = [Message("system", words(300 if not functions else 10)), Message("user", "q")]
    with pytest.raises(ModelServiceError, match="the system message and the tools alone") as raised:
        truncate_input(messages, 150, functions)
    assert raised.value.code == "400"


def test_a_reply_that_is_longer_than_all_there_is_raises():
    with pytest.raises(ModelServiceError, match="last reply alone"):
        truncate_input([call("call_a", '{"x": "' + words(2000) + '"}'), result("call_a", "r")], 300)


CONTENT = st.one_of(
    st.integers(0, 120).map(words),
    st.integers(0, 120).map(lambda n: [ContentItem(text=words(n)), ContentItem(image="http://x/y.png")]),
)
STEP = st.one_of(
    st.builds(Message, st.just("user"), CONTENT),
    st.builds(Message, st.just("assistant"), st.integers(0, 60).map(words)),
    st.builds(call, st.just(""), st.integers(0, 60).map(lambda n: '{"x": "' + words(n) + '"}')),
    st.builds(result, st.just(""), CONTENT),
)


@settings(max_examples=200, deadline=None)
@given(st.booleans(), st.lists(STEP, min_size=1, max_size=16), st.sampled_from([40, 80, 150, 400, 1000, 2500]))
def test_any_cut_fits_keeps_pairs_and_changes_nothing_given(has_system, steps, max_tokens):
    messages = repair_history([*([Message("system", words(10))] if has_system else []), Message("user", "go"), *steps])
    before = [m.model_dump() for m in messages]
    cut = truncate_input(messages, max_tokens)
    assert count_input_tokens(cut) <= max_tokens
    assert check_history(cut) == []
    assert any(m.role == "user" for m in cut)
    assert [m.model_dump() for m in messages] == before
    position = -1
    for message in cut:  # the order is kept: each message is one of those given, possibly shorter
        position = next(
            at
            for at in range(position + 1, len(messages))
            if messages[at].role == message.role and messages[at].extra == message.extra
        )


def test_a_long_history_is_counted_once():
    turn = [Message("user", words(300)), call("call_a"), result("call_a", words(500)), Message("assistant", words(200))]
    messages = repair_history([m.model_copy() for _ in range(100) for m in turn])
    truncate_input(messages, 58_000)
    start = time.process_time()
    for _ in range(20):
        truncate_input(messages, 58_000)
    assert time.process_time() - start < 0.2


def test_the_omitted_note_is_shorter_than_what_it_stands_for():
    messages = [
        Message("user", "q"),
        call("call_a"),
        result("call_a", "short"),
        call("call_b"),
        result("call_b", words(900)),
    ]
    cut = truncate_input(messages, 60)
    assert all(m.content != OMITTED or len(messages[2].content) > len(OMITTED) for m in cut)
