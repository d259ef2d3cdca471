"""The rules of a history, their check and their repair."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwen_agentkit.llm.history import NO_RESULT, check_history, groups_of, repair_history
from qwen_agentkit.schema import FunctionCall, Message


def user(text: str = "q") -> Message:
    return Message("user", text)


def said(text: str = "a") -> Message:
    return Message("assistant", text)


def call(function_id: str | None = None, name: str = "f", arguments: str = "{}") -> Message:
    extra = {"function_id": function_id} if function_id is not None else None
    return Message("assistant", "", function_call=FunctionCall(name, arguments), extra=extra)


def result(function_id: str | None = None, name: str | None = "f", text: str = "r", **extra) -> Message:
    held = {**({"function_id": function_id} if function_id is not None else {}), **extra}
    return Message("function", text, name=name, extra=held or None)


def ids(messages: list[Message]) -> list[str]:
    return [m.extra["function_id"] for m in messages if m.function_call is not None or m.role == "function"]


def results(messages: list[Message]) -> list[str]:
    return [m.content for m in messages if m.role == "function"]


def assert_valid(messages: list[Message]) -> None:
    assert check_history(messages) == []


def test_a_valid_history_has_no_problems_and_is_handed_on():
    messages = [
        Message("system", "s"),
        user(),
        call("call_a"),
        call("call_b"),
        result("call_a"),
        result("call_b"),
        said(),
    ]
    assert_valid(messages)
    repaired = repair_history(messages)
    assert all(one is other for one, other in zip(messages, repaired, strict=True))
    assert repaired is not messages


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([call("call_a")], "not answered"),
        ([call(), result()], "without an id"),
        ([call("1"), result("1")], "bare number"),
        ([result("call_a")], "without a call"),
        ([call("call_a"), result("call_a"), result("call_a")], "a second time"),
        ([call("call_a"), result("call_b")], "belongs to no call"),
        ([call("call_a"), result("call_a"), call("call_a"), result("call_a")], "belongs to an earlier call"),
        ([call("call_a"), call("call_b"), result("call_b"), result("call_a")], "order of the calls"),
        ([call("call_a"), user(), result("call_a")], "not answered"),
        ([call("call_a"), result("call_a", name=None)], "without the tool's name"),
    ],
)
def test_each_break_of_a_rule_is_named_and_mended(messages, problem):
    problems = check_history(messages)
    assert any(problem in line for line in problems)
    assert all(line.startswith("messages[") and "\n" not in line for line in problems)
    assert_valid(repair_history(messages))


def test_a_call_without_a_result_gets_one():
    repaired = repair_history([user(), call("call_a"), user("next")])
    assert [m.role for m in repaired] == ["user", "assistant", "function", "user"]
    assert repaired[2].content == NO_RESULT
    assert repaired[2].name == "f" and ids(repaired) == ["call_a", "call_a"]


def test_one_missing_result_of_two_is_added_in_its_place():
    repaired = repair_history([call("call_a"), call("call_b"), result("call_b", text="b")])
    assert results(repaired) == [NO_RESULT, "b"]


def test_a_result_behind_a_users_message_is_moved_to_its_call():
    repaired = repair_history([call("call_a"), user("hurry"), result("call_a", text="late"), said()])
    assert [m.role for m in repaired] == ["assistant", "function", "user", "assistant"]
    assert results(repaired) == ["late"]


def test_a_text_between_results_stays_behind_them():
    repaired = repair_history([call("call_a"), call("call_b"), result("call_a"), said("x"), result("call_b", text="b")])
    assert results(repaired) == ["r", "b"]
    assert repaired[-1].content == "x"


def test_a_second_result_is_left_out_and_the_first_counts():
    repaired = repair_history([call("call_a"), result("call_a", text="1"), result("call_a", text="2"), said()])
    assert results(repaired) == ["1"]


def test_a_result_without_a_call_is_left_out():
    assert [m.role for m in repair_history([user(), result("call_x"), said()])] == ["user", "assistant"]


def test_results_without_ids_are_matched_by_name_and_order():
    messages = [call(name="a"), call(name="b"), call(name="a"), result(name="b", text="b"), result(name="a", text="a1")]
    repaired = repair_history([*messages, result(name="a", text="a2")])
    assert results(repaired) == ["a1", "b", "a2"]


def test_the_ids_that_qwen_agent_gives_anew_in_each_reply_become_unique():
    turn = [user(), call("1", "a"), call("2", "b"), result("1", "a", "ra"), result("2", "b", "rb"), said()]
    repaired = repair_history([*turn, *turn])
    assert results(repaired) == ["ra", "rb", "ra", "rb"]
    held = ids(repaired)
    assert len(set(held)) == 4
    assert all(re.fullmatch(r"call_[0-9a-f]{12}", one) for one in held)


def test_two_calls_with_the_same_id_are_told_apart():
    repaired = repair_history([call("x"), call("x"), result("x", text="1"), result("x", text="2")])
    assert len(set(ids(repaired))) == 2
    assert sorted(results(repaired)) == ["1", "2"]


def test_ids_of_a_service_are_kept():
    messages = [call("toolu_01Ab"), result("toolu_01Ab"), call("chatcmpl-tool-9"), result("chatcmpl-tool-9")]
    assert ids(repair_history(messages)) == ids(messages)


def test_new_ids_are_the_same_each_time_and_when_the_history_has_grown():
    turn = [user(), call("1"), result("1"), said()]
    first = repair_history(turn)
    assert [m.model_dump() for m in repair_history(turn)] == [m.model_dump() for m in first]
    longer = repair_history([*turn, user(), call("1"), result("1")])
    assert [m.model_dump() for m in longer[:4]] == [m.model_dump() for m in first]


def test_a_pause_may_leave_calls_open():
    paused = [user(), call("call_a"), call("call_b"), result("call_a", end="paused")]
    assert_valid(paused)
    assert repair_history(paused) == paused
    assert check_history([*paused, user("next")]) != []
    assert results(repair_history([*paused, user("next")])) == ["r", NO_RESULT]


def test_a_history_may_begin_with_the_assistant_and_have_two_system_messages():
    messages = [Message("system", "a"), Message("system", "b"), said(), user(), user()]
    assert_valid(messages)


def test_dicts_and_openais_shape_are_taken():
    repaired = repair_history(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "r"},
        ]
    )
    assert_valid(repaired)
    assert results(repaired) == ["r"] and repaired[2].name == "f"


def test_what_is_no_message_raises():
    with pytest.raises(ValueError, match="list of messages"):
        check_history("hello")


MESSAGES = st.lists(
    st.one_of(
        st.builds(user, st.sampled_from(["q", ""])),
        st.builds(said, st.sampled_from(["a", ""])),
        st.builds(Message, st.just("system"), st.just("s")),
        st.builds(
            call,
            st.sampled_from([None, "1", "2", "call_a", "call_b", ""]),
            st.sampled_from("fg"),
            st.sampled_from(["{}", '{"x": 1}', "bad"]),
        ),
        st.builds(
            result,
            st.sampled_from([None, "1", "2", "call_a", "call_b", ""]),
            st.sampled_from(["f", "g", None]),
            st.sampled_from(["r", ""]),
        ),
        st.builds(result, st.sampled_from([None, "1"]), st.just("f"), st.just("r"), end=st.just("paused")),
    ),
    max_size=14,
)


@settings(max_examples=400, deadline=None)
@given(MESSAGES)
def test_any_history_passes_the_check_after_repair(messages):
    before = [m.model_dump() for m in messages]
    repaired = repair_history(messages)
    assert_valid(repaired)
    assert repair_history(repaired) == repaired
    assert [m.model_dump() for m in messages] == before

    def rest(held):
        return [m for m in held if m.role in ("user", "system") or (m.role == "assistant" and m.function_call is None)]

    def calls(held):
        return [m.function_call for m in held if m.function_call is not None]

    assert rest(repaired) == rest(messages)
    assert calls(repaired) == calls(messages)


@settings(max_examples=200, deadline=None)
@given(MESSAGES)
def test_groups_cover_a_history_and_keep_calls_with_their_results(messages):
    repaired = repair_history(messages)
    groups = groups_of(repaired)
    assert [position for start, end in groups for position in range(start, end)] == list(range(len(repaired)))
    for cut in range(len(groups)):
        assert_valid([m for start, end in groups[cut:] for m in repaired[start:end]])


def test_checking_a_long_history_costs_next_to_nothing():
    turn = [user("q" * 500), call("1"), result("1", text="r" * 800), said("a" * 500)]
    repaired = repair_history(turn * 100)
    start = time.process_time()
    for _ in range(20):
        repair_history(repaired)
    assert time.process_time() - start < 0.2
