"""Pieces of native tool calls, and deltas of growing lists."""

import pytest

from qwen_agentkit.llm.delta import NativeCalls, ToolCallDelta, deltas_of, merge_opaque, steps_between
from qwen_agentkit.schema import FunctionCall, Message


def merged(*pieces):
    calls = NativeCalls()
    for piece in pieces:
        calls.feed(ToolCallDelta(*piece))
    return [(call.id, call.name, "".join(call.arguments)) for call in calls.calls]


def test_interleaved_pieces_go_to_the_call_of_their_index():
    assert merged(
        (0, "a", "f", None),
        (1, "b", "g", None),
        (0, None, None, '{"x":'),
        (1, None, None, '{"y":'),
        (0, None, None, " 1}"),
        (1, None, None, " 2}"),
    ) == [("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')]


def test_null_arguments_in_the_first_piece_are_nothing():
    assert merged((0, "a", "f", None), (0, None, None, "{}")) == [("a", "f", "{}")]


def test_a_name_sent_with_every_piece_is_not_doubled():
    assert merged((0, "a", "f", "{"), (0, "a", "f", "}")) == [("a", "f", "{}")]


def test_a_name_in_parts_is_joined():
    assert merged((0, "a", "get_", None), (0, None, "time", None)) == [("a", "get_time", "")]


def test_calls_without_index_are_told_apart():
    assert merged((None, "a", "f", "{}"), (None, "b", "g", "{"), (None, None, None, "}")) == [
        ("a", "f", "{}"),
        ("b", "g", "{}"),
    ]


def test_calls_that_all_have_index_0_are_told_apart_by_their_ids():
    assert merged((0, "a", "f", "{}"), (0, "b", "f", '{"x": 1}')) == [("a", "f", "{}"), ("b", "f", '{"x": 1}')]


def test_opaque_parts_are_joined_by_index_and_type():
    held = merge_opaque(None, {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "ab"}]})
    held = merge_opaque(held, {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "cd"}]})
    held = merge_opaque(held, {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]})
    assert held == {
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "abcd"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        ]
    }


def test_growing_lists_become_deltas():
    lists = [
        [Message("assistant", "he")],
        [Message("assistant", "hello")],
        [Message("assistant", "hello"), Message("assistant", "", function_call=FunctionCall("f", '{"a"'))],
        [Message("assistant", "hello"), Message("assistant", "", function_call=FunctionCall("f", '{"a": 1}'))],
    ]
    deltas = list(deltas_of(lists))
    assert "".join(delta.text for delta in deltas) == "hello"
    calls = NativeCalls()
    for delta in deltas:
        for piece in delta.tool_calls:
            calls.feed(piece)
    assert [(call.name, "".join(call.arguments)) for call in calls.calls] == [("f", '{"a": 1}')]


def test_a_list_that_shrinks_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="only grows"):
        list(deltas_of([[Message("assistant", "hello")], [Message("assistant", "A")]]))


def test_a_model_answers_as_assistant_only():
    with pytest.raises(ValueError, match="user"):
        list(deltas_of([[Message("user", "hello")]]))


def test_steps_hold_what_is_new():
    call = Message("assistant", "", function_call=FunctionCall("f", "{}"))
    steps = list(
        steps_between(
            [
                [Message("assistant", "", reasoning_content="h")],
                [Message("assistant", "", reasoning_content="hm"), Message("assistant", "a")],
                [Message("assistant", "", reasoning_content="hm"), Message("assistant", "ab"), call],
            ]
        )
    )
    assert [[(one.reasoning_content, one.content) for one in step] for step in steps] == [
        [("h", "")],
        [("m", ""), (None, "a")],
        [(None, "b"), (None, "")],
    ]
    assert steps[-1][-1].function_call.name == "f"
