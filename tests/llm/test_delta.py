"""Pieces of native tool calls, and deltas of growing lists."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.llm.delta import Delta, NativeCalls, ToolCallDelta, deltas_of, merge_opaque, steps_between
from qwen_agentkit.llm.reply import Reply
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


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["look", "save"]), st.dictionaries(st.text(max_size=3), st.text(max_size=12), max_size=2)
    ),
    max_size=3,
)
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)


@settings(max_examples=200, deadline=None)
@given(text=TEXT, thought=TEXT, calls=CALLS, data=st.data())
def test_any_sequence_of_deltas_accumulates_to_the_whole_message(text, thought, calls, data):
    functions = [{"name": name, "description": "", "parameters": {}} for name in ("look", "save")]
    written = [json.dumps(arguments, ensure_ascii=False) for _, arguments in calls]

    def cut(whole):
        at = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=4)) | {0, len(whole)})
        return [whole[start:end] for start, end in pairwise(at)]

    def facts(reply):
        return [
            (one.content, one.reasoning_content, one.function_call, (one.extra or {}).get("function_id"))
            for one in reply.finish()
        ]

    ids = [f"call_{n}" for n in range(len(calls))]
    whole = Reply(functions)
    first = [ToolCallDelta(n, ids[n], name, written[n]) for n, (name, _) in enumerate(calls)]
    whole.feed(Delta(text, thought, first, finish_reason="stop"))

    # Each channel in its order, the channels in any order among themselves; the thinking comes before the text.
    streams = [[Delta(reasoning=piece) for piece in cut(thought)] + [Delta(piece) for piece in cut(text)]]
    for n, (name, _) in enumerate(calls):
        pieces = [ToolCallDelta(n, arguments=piece) for piece in cut(written[n])]
        streams.append([Delta(tool_calls=[piece]) for piece in [ToolCallDelta(n, ids[n], name), *pieces]])
    # A server begins its calls in their order.
    begun = [stream.pop(0) for stream in streams[1:]]
    parts = Reply(functions)
    for delta in begun:
        parts.feed(delta)
    shown = []
    while any(streams):
        stream = data.draw(st.sampled_from([one for one in streams if one]))
        parts.feed(stream.pop(0))
        now = "".join(str(one.content) for one in parts.messages())
        assert now.startswith("".join(shown[-1:]))
        shown.append(now)
    parts.feed(Delta(finish_reason="stop"))
    assert facts(parts) == facts(whole)
