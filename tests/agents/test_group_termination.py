"""When a talk ends."""

import threading
import time

import pytest

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.conditions import (
    ExternalSwitch,
    FunctionCalled,
    HandoffTo,
    MaxMessages,
    MaxRounds,
    MaxTokens,
    Moderator,
    Seconds,
    SourceIs,
    StopMessage,
    TextMention,
    TextMessage,
    WhenTrue,
)
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.termination import News, TerminatedError
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.limits import Usage
from qwen_agentkit.schema import FunctionCall, Message
from qwen_agentkit.testing import ScriptedChatModel, call, reply
from tests.agents.looking import Look

ASK = [Message("user", "Say TERMINATE when done")]


def said(text, name="A", **kwargs):
    return Message("assistant", text, name=name, **kwargs)


def news(*messages, **kwargs):
    return News(messages=messages, speakers=[message.name for message in messages], turns=1, **kwargs)


def task(text):
    return News(messages=[Message("user", text)], speakers=[None], task=True)


class Talker(Agent):
    def _run(self, messages, lang="en", **kwargs):
        yield [Message("assistant", f"{self.name} talks")]


def team(termination, *names, **kwargs):
    return GroupChat(
        [Talker(name=name) for name in names or ("A", "B")], "round_robin", termination=termination, **kwargs
    )


# ---- each condition


def test_a_text_is_looked_for_in_members_words_and_not_in_the_task():
    condition = TextMention("TERMINATE")
    assert condition.check(task("TERMINATE when done")) is None
    assert condition.check(news(said("not yet"))) is None
    assert condition.check(news(said("TERMINATE"))).reason == "'TERMINATE' was said by A"
    assert TextMention("TERMINATE", include_task=True).check(task("TERMINATE now")) is not None


def test_a_text_may_count_only_from_some_members():
    condition = TextMention("OK", sources="B")
    assert condition.check(news(said("OK", "A"))) is None
    assert condition.check(news(said("OK", "B"))) is not None


def test_a_tools_result_is_nobodys_words():
    result = Message("function", "TERMINATE", name="look", extra={"function_id": "call_1"})
    assert TextMention("TERMINATE").check(news(result)) is None


def test_messages_are_counted_without_calls_and_results_unless_asked_for():
    call_message = said("", function_call=FunctionCall("look", "{}"), extra={"function_id": "call_1"})
    result = Message("function", "x", name="look", extra={"function_id": "call_1"})
    condition = MaxMessages(3)
    assert condition.check(task("Hi")) is None
    assert condition.check(news(call_message, result, said("found"))) is None
    stop = condition.check(news(said("more")))
    assert (stop.reason, stop.end) == ("Maximum number of messages 3 reached", "limit:messages")
    assert MaxMessages(3, include_calls=True).check(news(call_message, result, said("found"))) is not None


def test_rounds_are_turns():
    condition = MaxRounds(2)
    assert condition.check(task("Hi")) is None
    assert condition.check(news(said("a"), said("b"))) is None
    assert condition.check(news(said("c"))).end == "limit:rounds"


def test_tokens_are_bounded_in_all_in_or_out():
    usage = Usage(prompt_tokens=70, completion_tokens=30)
    assert MaxTokens(total=101).check(News(usage=usage)) is None
    assert MaxTokens(total=100).check(News(usage=usage)).end == "limit:tokens"
    assert MaxTokens(prompt=70).check(News(usage=usage)) is not None
    assert MaxTokens(completion=31).check(News(usage=usage)) is None
    with pytest.raises(ValueError, match="at least one of total, prompt, completion"):
        MaxTokens()


def test_seconds_count_from_the_run_or_the_reset():
    condition = Seconds(0.03)
    assert condition.check(News()) is None
    time.sleep(0.04)
    assert condition.check(News()).end == "limit:seconds"
    condition.reset()
    assert condition.check(News()) is None


def test_a_handoff_to_a_name():
    assert HandoffTo("user").check(News(handed_to="B")) is None
    assert HandoffTo("user").check(News(handed_to="user")).end == "handoff"


def test_a_source_a_text_message_and_a_stop_message():
    assert SourceIs(["B"]).check(news(said("x", "A"))) is None
    assert SourceIs(["B"]).check(news(said("x", "B"))).reason == "B has spoken"
    call_message = said("", function_call=FunctionCall("look", "{}"))
    assert TextMessage().check(news(call_message)) is None
    assert TextMessage("B").check(news(said("x", "A"))) is None
    assert TextMessage().check(news(said("x"))) is not None
    assert StopMessage().check(news(said("please [STOP] it"))) is None
    assert StopMessage().check(news(said(" TERMINATE "))) is not None


def test_a_function_that_was_called_and_a_function_that_decides():
    result = Message("function", "x", name="look", extra={"function_id": "call_1"})
    assert FunctionCalled("look").check(news(said("look"))) is None
    assert FunctionCalled("look").check(news(result)).reason == "Tool look was run"
    assert WhenTrue(lambda messages: len(messages) > 1).check(news(said("a"))) is None
    assert WhenTrue(lambda messages: len(messages) > 1).check(news(said("a"), said("b"))) is not None


def test_a_switch_is_thrown_from_outside_and_heard_by_all_copies():
    switch = ExternalSwitch()
    copied = (switch | MaxRounds(9)).fresh()
    assert copied.check(News()) is None
    switch.set()
    assert copied.check(News()).reason == "Stopped from outside"
    switch.clear()
    assert switch.check(News()) is None


@pytest.mark.parametrize(
    ("verdict", "ends"),
    [
        ("DONE. All settled.", True),
        ("**DONE**", True),
        ("CONTINUE, it is not DONE", False),
        ("", False),
        ("Not DONE", False),
    ],
)
def test_a_moderator_judges_after_each_turn(verdict, ends):
    judge = BasicAgent(llm=ScriptedChatModel([verdict]), name="judge")
    stop = Moderator(judge).check(news(said("x"), conversation=[*ASK, said("x")]))
    assert (stop is not None) == ends
    assert "user: Say TERMINATE when done\nA: x" in judge.llm.requests[0].messages[0].content


@pytest.mark.parametrize(
    "make",
    [
        lambda: TextMention(""),
        lambda: MaxMessages(0),
        lambda: MaxRounds(-1),
        lambda: MaxTokens(total=0),
        lambda: Seconds(0),
        lambda: Seconds(float("nan")),
    ],
)
def test_conditions_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match=r"wants a text|number above 0"):
        make()


# ---- firing once, reset, state


def test_a_condition_that_has_fired_must_be_reset_before_it_is_asked_again():
    condition = MaxRounds(1)
    assert condition.check(news(said("a"))) is not None
    assert condition.fired
    with pytest.raises(TerminatedError, match="reset"):
        condition.check(news(said("b")))
    assert isinstance(TerminatedError(), Exception)
    condition.reset()
    assert condition.check(news(said("c"))) is not None


def test_joined_conditions_raise_the_same_error():
    condition = MaxRounds(1) | TextMention("x")
    condition.check(news(said("x")))
    with pytest.raises(TerminatedError):
        condition.check(news(said("x")))


def test_and_waits_for_all_and_does_not_ask_again_who_has_fired():
    asked = []

    def often(messages):
        asked.append(len(messages))
        return True

    condition = WhenTrue(often) & TextMention("yes")
    assert condition.check(news(said("no"))) is None
    assert condition.check(news(said("no"))) is None
    assert condition.check(news(said("yes"))).reason == "often said so, 'yes' was said by A"
    assert asked == [1]


def test_or_asks_all_and_any_ends():
    condition = MaxRounds(2) | TextMention("yes") | TextMention("y")
    assert len(condition.members) == 3
    assert condition.check(news(said("no"))) is None
    stop = condition.check(news(said("yes")))
    assert stop.reason == "Maximum number of rounds 2 reached, 'yes' was said by A, 'y' was said by A"
    assert stop.end == "limit:rounds"


def test_joining_with_something_else_is_an_error():
    with pytest.raises(TypeError, match="joined with conditions"):
        MaxRounds(1) | "TERMINATE"


@pytest.mark.parametrize(
    "condition", [MaxRounds(3), MaxMessages(3), MaxRounds(3) | TextMention("x"), MaxRounds(3) & MaxMessages(2)]
)
def test_a_saved_condition_goes_on_where_it_was(condition):
    condition.reset()
    condition.check(news(said("a")))
    condition.check(news(said("b")))
    other = condition.fresh()
    other.load_state(condition.save_state())
    assert other.check(news(said("c"))) == condition.check(news(said("c")))
    assert other.fired
    again = condition.fresh()
    assert not again.fired
    again.load_state(other.save_state())
    assert again.fired


def test_time_that_has_passed_is_saved_too():
    condition = Seconds(0.05)
    time.sleep(0.03)
    other = Seconds(0.05)
    other.load_state(condition.save_state())
    assert other.seconds_left() < 0.03


# ---- in teams


def test_a_condition_is_checked_on_the_task_before_anybody_speaks():
    state = TeamState()
    assert team(MaxMessages(1)).run_nonstream(ASK, state=state) == []
    assert state.stop_reason == "Maximum number of messages 1 reached"
    assert team(ExternalSwitch() | MaxRounds(2)).run_nonstream(ASK) != []
    switch = ExternalSwitch()
    switch.set()
    assert team(switch).run_nonstream(ASK) == []


def test_the_tasks_own_text_does_not_end_the_talk():
    assert len(team(TextMention("TERMINATE") | MaxRounds(3)).run_nonstream(ASK)) == 3


def test_a_team_with_a_condition_runs_again_after_it_fired():
    chat, state = team(MaxRounds(2), "A", "B", "C"), TeamState()
    first = chat.run_nonstream(ASK, state=state)
    second = chat.run_nonstream([Message("user", "More")], state=state)
    assert [m.name for m in first] == ["A", "B"]
    assert [m.name for m in second] == ["C", "A"]


def test_a_condition_of_one_team_serves_interleaved_runs():
    chat = team(MaxRounds(2))
    last = {}
    runs = {"one": chat.run(ASK), "other": chat.run(ASK)}
    for _ in range(8):
        for name, run in runs.items():
            last[name] = next(run, last.get(name))
    assert [len(response) for response in last.values()] == [2, 2]


def test_a_condition_that_is_never_met_does_not_run_for_ever():
    response = team(TextMention("never")).run_nonstream(ASK)
    assert len(response) == 100
    assert response[-1].extra["end"] == "limit:rounds"


def test_a_single_agent_in_a_chat_of_one_ends_by_a_condition_too():
    class Counter(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", str(sum(m.role == "assistant" for m in messages)))]

    chat = GroupChat([Counter(name="A")], "round_robin", termination=TextMention("3"))
    assert [m.content for m in chat.run_nonstream([Message("user", "Count")])] == ["0", "1", "2", "3"]


def test_a_turn_that_goes_on_too_long_is_broken_off_even_in_a_blocked_read():
    model = ScriptedChatModel([reply("half a sentence", chunks=["half ", "a sentence"], hang_after=1)])
    chat = GroupChat([BasicAgent(llm=model, name="A")], "round_robin", termination=Seconds(0.2))
    began = time.monotonic()
    response = chat.run_nonstream(ASK)
    assert time.monotonic() - began < 2
    assert response[-1].extra["end"] == "limit:seconds"
    assert response[-1].content.startswith("half")


def test_a_turn_that_uses_too_many_tokens_is_broken_off_between_its_model_calls():
    usage = Usage(prompt_tokens=50, completion_tokens=10)
    model = ScriptedChatModel([reply("", call("look"), usage=usage)], repeat=True)
    agent = FnCallAgent([Look()], model, name="A", repeats=False)
    response = GroupChat([agent], "round_robin", termination=MaxTokens(total=100)).run_nonstream(ASK)
    assert response[-1].extra["end"] == "limit:tokens"
    assert len(model.requests) <= 3


def test_a_switch_thrown_by_another_thread_ends_the_talk_after_the_turn():
    switch = ExternalSwitch()

    class Slow(Agent):
        def _run(self, messages, lang="en", **kwargs):
            threading.Timer(0.01, switch.set).start()
            time.sleep(0.05)
            yield [Message("assistant", "whole")]

    response = GroupChat([Slow(name="A")], "round_robin", termination=switch).run_nonstream(ASK)
    assert [m.content for m in response] == ["whole"]
    assert response[-1].extra["end"] == "cancelled"


def test_a_moderator_closes_the_talk():
    judge = BasicAgent(llm=ScriptedChatModel(["CONTINUE", "DONE, well said."]), name="judge")
    state = TeamState()
    assert len(team(None, moderator=judge).run_nonstream(ASK, state=state)) == 2
    assert state.stop_reason == "judge: well said"


def test_a_termination_that_is_none_is_refused():
    with pytest.raises(ValueError, match="termination is a condition"):
        team("TERMINATE")
