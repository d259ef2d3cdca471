"""`ReplyParser` beyond the corpus: order, ids, white space, thinking, cost."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.llm.dialects.parser import ReplyParser
from tests.llm.dialects.corpus import FUNCTIONS, nous
from tests.llm.dialects.test_corpus import assert_grown, facts

CALL = nous("get_weather", {"city": "Oslo"})


def read(text: str, reasoning: str = "", **settings):
    parser = ReplyParser(FUNCTIONS, **settings)
    parser.feed(text, reasoning)
    return parser.finish("stop")


def test_the_order_is_thinking_text_calls():
    messages = read(f"Let me see.\n{CALL}\n{CALL}", "I think.")
    kinds = [("thinking" if m.reasoning_content else "call" if m.function_call else "text") for m in messages]
    assert kinds == ["thinking", "text", "call", "call"]
    assert [m.role for m in messages] == ["assistant"] * 4
    assert messages[0].content == ""


def test_text_behind_a_call_is_kept_in_the_text_message():
    messages = read(f"One.\n{CALL}\nTwo.")
    assert [m.content for m in messages if m.function_call is None] == ["One.\n\nTwo."]


def test_text_that_touches_a_call_is_kept_apart():
    assert read(f"One.{CALL}Two.")[0].content == "One.\nTwo."


def test_text_behind_a_call_that_was_shown_first_stays_behind_it():
    parser = ReplyParser(FUNCTIONS)
    parser.feed(CALL)
    first = parser.messages()
    parser.feed("Done.")
    assert_grown(first, parser.finish())


def test_text_without_calls_is_exact():
    text = "  Hello,\n\n  world \n\n"
    assert read(text)[0].content == text


def test_arguments_have_pythons_default_separators():
    messages = read('<tool_call>{"name":"get_weather","arguments":{"city":"海淀区","days":1}}</tool_call>')
    assert messages[0].function_call.arguments == '{"city": "海淀区", "days": 1}'


def test_each_call_has_an_id_of_its_own():
    ids = [m.extra["function_id"] for m in read(CALL * 5)]
    assert len(set(ids)) == 5
    assert all(re.fullmatch(r"call_[0-9a-f]{12}", one) for one in ids)


def test_a_call_is_the_same_object_each_time_it_is_shown():
    parser = ReplyParser(FUNCTIONS)
    parser.feed(CALL)
    shown = parser.messages()
    parser.feed("text")
    assert parser.messages()[0] is shown[0]


def test_a_call_enters_when_its_arguments_are_final():
    parser = ReplyParser(FUNCTIONS)
    parser.feed(CALL[:-20])
    assert parser.messages() == []
    parser.feed(CALL[-20:])
    assert parser.messages()[0].function_call.name == "get_weather"


def test_a_possible_tag_is_held_back_and_given_out_when_it_is_none():
    parser = ReplyParser(FUNCTIONS)
    parser.feed("a <tool")
    assert parser.messages()[0].content == "a"
    parser.feed("box")
    assert parser.messages()[0].content == "a <toolbox"


def test_json_that_is_no_call_is_not_held_back():
    parser = ReplyParser(FUNCTIONS)
    parser.feed('{"title": "A lon')
    assert parser.messages()[0].content == '{"title": "A lon'


def test_without_calls_to_look_for_markup_is_text():
    assert read(f"x {CALL}", parse_calls=False)[0].content == f"x {CALL}"


def test_thinking_is_split_off_when_no_calls_are_looked_for():
    messages = read("<think>a</think>\nb", parse_calls=False)
    assert [(m.reasoning_content, m.content) for m in messages] == [("a", ""), (None, "b")]


def test_a_text_that_begins_inside_thinking():
    messages = read(f"hm\n</think>\n\nSo:\n{CALL}", thought_in_content=True)
    assert facts(messages)[0][:2] == ("", "hm")
    assert messages[1].content == "So:"
    assert messages[2].function_call.name == "get_weather"


def test_a_second_opening_tag_is_passed_over_when_the_text_begins_inside_thinking():
    messages = read("<think>\nhm\n</think>\nHi", thought_in_content=True)
    assert [(m.reasoning_content, m.content) for m in messages] == [("hm", ""), (None, "Hi")]


def test_thinking_in_the_servers_field_keeps_its_white_space():
    parser = ReplyParser()
    for piece in ("a\n", "\n b", " \n"):
        parser.feed("", piece)
    assert parser.finish()[0].reasoning_content == "a\n\n b \n"


@pytest.mark.parametrize("end", ["<", "a <tool_", "✿FUNCTION✿", "so: ✿FUNCTION✿: no", "\n\n", "<thi"])
def test_thinking_in_the_servers_field_is_whole_when_the_text_begins(end):
    parser = ReplyParser(FUNCTIONS)
    parser.feed("", f"we ask if 1 {end}")
    parser.feed("\n")
    parser.feed("Yes")
    thinking, text = parser.messages()
    assert (thinking.reasoning_content, text.content) == (f"we ask if 1 {end}", "\nYes")
    parser.feed("", " and more")
    assert parser.finish("stop")[0].reasoning_content == f"we ask if 1 {end} and more"


def test_the_servers_thinking_and_thinking_in_the_text_are_one():
    assert read("<think>b</think>c", "a")[0].reasoning_content == "a\n\nb"


def test_a_call_in_thinking_is_none_when_the_server_gave_calls():
    parser = ReplyParser(FUNCTIONS)
    parser.feed("", f"maybe {CALL}")
    assert [m.function_call for m in parser.finish("tool_calls", native_calls=True)] == [None]


def test_nothing_said_is_no_message():
    assert read("") == []
    assert read(" \n\n ") == []


def test_finishing_twice_changes_nothing():
    parser = ReplyParser(FUNCTIONS)
    parser.feed(CALL[:-15])
    first = parser.finish("length")
    assert parser.finish("stop") == first == parser.messages()


def test_feeding_after_the_end_raises():
    parser = ReplyParser()
    parser.finish()
    with pytest.raises(RuntimeError, match="finished"):
        parser.feed("x")


@pytest.mark.parametrize(
    ("finish_reason", "text", "truncated"),
    [
        ("length", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}', True),
        (None, '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}', True),
        ("stop", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}', False),
        ("stop", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo', True),
        ("length", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}', False),
    ],
)
def test_a_call_is_marked_truncated_when_the_reply_may_have_ended_inside_it(finish_reason, text, truncated):
    parser = ReplyParser(FUNCTIONS)
    parser.feed(text)
    (message,) = parser.finish(finish_reason)
    assert json.loads(message.function_call.arguments) == {"city": "Oslo"}
    assert message.extra.get("truncated", False) is truncated


FRAGMENTS = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<function=now>", "<parameter=code>", "</parameter>", "</function>"),
        *("<think>", "</think>", "✿FUNCTION✿", ": now", "✿ARGS✿", ': {"a": 1}', "✿RESULT✿", "✿RETURN✿"),
        *("```json\n", "```", "Action: now", "\nAction Input:", "\nObservation:", "<tools>", "</tools>", "<code>"),
        *('{"name": "now"', ', "arguments": {', "}", "{", "[", "]", '"', "'", "\\", ",", ";", "\n", " ", "<", "x y"),
        *('{"name": "get_weather", "arguments": {"city": "x"}}', "<arg_key>city</arg_key>", "<arg_value>"),
    ]
)


@settings(max_examples=250, deadline=None)
@given(
    text=st.lists(FRAGMENTS, max_size=14).map("".join),
    dialect=st.sampled_from(["nous", "qwen", "react", "fenced", "xml", "native"]),
    thought_in_content=st.booleans(),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    data=st.data(),
)
def test_any_text_cut_anywhere_reads_the_same_and_only_grows(text, dialect, thought_in_content, finish_reason, data):
    def read_in(cuts):
        parser = ReplyParser(FUNCTIONS, dialect, thought_in_content)
        shown, start = [], 0
        for cut in [*cuts, len(text)]:
            parser.feed(text[start:cut])
            start = cut
            now = parser.messages()
            assert_grown(shown, now)
            shown = now
        whole = parser.finish(finish_reason)
        assert_grown(shown, whole)
        return facts(whole)

    whole = read_in([])
    assert read_in(range(1, len(text))) == whole
    assert read_in(sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4)))) == whole


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.characters(blacklist_categories=["Cs"]), max_size=80), dialect=st.sampled_from(["nous", "react"])
)
def test_text_without_marks_is_never_lost(text, dialect):
    parser = ReplyParser(FUNCTIONS, dialect)
    for character in text:
        parser.feed(character)
    read_text = "".join(m.content for m in parser.finish("stop"))
    assert read_text == (text if text.strip() else "")


@pytest.mark.parametrize("piece", ["word ", "\n", "<", "`", "✿", "a < b ", "```\n{", "<tool_call>", "\nAction: now\n"])
@pytest.mark.parametrize(
    "opening", ["", '<tool_call>{"name": "now", "arguments": {"a": "', "<function=now>\n<parameter=a>\n", "<think>"]
)
def test_the_cost_is_linear_in_the_number_of_chunks(opening, piece):
    def seconds(chunks: int) -> float:
        parser = ReplyParser(FUNCTIONS)
        start = time.process_time()
        parser.feed(opening)
        for number in range(chunks):
            parser.feed(piece)
            if number % 20 == 0:
                parser.messages()
        parser.finish("length")
        return time.process_time() - start

    small, large = min(seconds(500) for _ in range(3)), seconds(4000)
    # Eight times the chunks: quadratic cost would be 64 times.
    assert large < max(24 * small, 0.3)
