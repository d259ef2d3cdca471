"""Members who hand the conversation over: a swarm."""

import pytest

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.conditions import HandoffTo, MaxRounds
from qwen_agentkit.agents.group.selection import ByHandoff
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.handoff import Handoff
from qwen_agentkit.agents.user_agent import UserAgent
from qwen_agentkit.events import HandoffMade, ToolCallStarted
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel, call
from qwen_agentkit.tools.base import BaseTool
from tests.agents.looking import Look

ASK = [Message("user", "My bill is wrong")]


class Broken(BaseTool):
    name = "broken"
    description = "Never works."
    parameters = {"type": "object", "properties": {}}

    def call(self, params, **kwargs):
        raise RuntimeError("out of order")


def member(name, script, *targets, tools=(), **kwargs):
    return FnCallAgent(
        list(tools), ScriptedChatModel(script), name=name, handoffs=list(targets), handoff_mode="return", **kwargs
    )


def to(name):
    return call(f"transfer_to_{name}")


def speakers(response):
    """Who spoke, a name a turn."""
    names = []
    for message in response:
        if message.role != "function" and (not names or names[-1] != message.name):
            names.append(message.name)
    return names


def test_the_first_member_starts_and_the_target_of_a_handoff_speaks_next():
    desk = member("desk", [to("billing")], "billing")
    billing = member("billing", ["Refunded."], "desk")
    response = GroupChat([desk, billing], "handoff").run_nonstream(ASK)
    assert speakers(response) == ["desk", "billing"]
    assert response[-1].content == "Refunded."
    assert response[-1].extra["end"] == "answered"
    assert check_history([*ASK, *response]) == []


def test_without_a_handoff_the_same_member_goes_on_in_a_team_with_a_termination():
    desk = member("desk", ["One.", "Two."], "billing")
    chat = GroupChat([desk, member("billing", [])], "handoff", termination=MaxRounds(2))
    assert [m.content for m in chat.run_nonstream(ASK)] == ["One.", "Two."]


def test_without_a_handoff_and_without_a_termination_the_answer_ends_the_talk():
    chat = GroupChat([member("desk", ["One."], "billing"), member("billing", [])], "handoff")
    assert [m.content for m in chat.run_nonstream(ASK)] == ["One."]
    kept = GroupChat([member("desk", ["One.", "Two."])], ByHandoff("same"), max_round=2)
    assert len(kept.run_nonstream(ASK)) == 2


def test_a_new_request_goes_to_whoever_holds_the_conversation():
    desk = member("desk", [to("billing")], "billing")
    billing = member("billing", ["Refunded.", "You are welcome."], "desk")
    chat = GroupChat([desk, billing], "handoff")
    messages = ASK + chat.run_nonstream(ASK)
    messages.append(Message("user", "Thanks"))
    assert speakers(chat.run_nonstream(messages)) == ["billing"]


def test_the_other_calls_results_and_the_message_reach_the_target_and_stay_in_its_view():
    desk = member(
        "desk",
        [[call("look"), to("billing")]],
        Handoff("billing", message="Please refund."),
        tools=[Look("customer 7, gold")],
    )
    billing = member("billing", ["Refunded.", "Sure."])
    chat = GroupChat([desk, billing], "handoff")
    messages = ASK + chat.run_nonstream(ASK)
    first = billing.llm.requests[0].messages
    assert [m.content for m in first] == [
        "user: My bill is wrong\ndesk [look]: customer 7, gold\ndesk: Please refund.\nbilling: "
    ]
    chat.run_nonstream([*messages, Message("user", "Thanks")])
    assert billing.llm.requests[1].messages[: len(first)] == first


def test_several_handoffs_in_one_reply_carry_out_the_first():
    desk = member("desk", [[to("billing"), to("tech")]], "billing", "tech")
    chat = GroupChat([desk, member("billing", ["Refunded."]), member("tech", [])], "handoff")
    response = chat.run_nonstream(ASK)
    assert speakers(response) == ["desk", "billing"]
    assert check_history([*ASK, *response]) == []


def test_an_input_filter_decides_what_the_target_sees():
    def last_only(messages):
        return messages[-1:]

    desk = member("desk", [to("billing")], Handoff("billing", input_filter=last_only))
    billing = member("billing", ["Refunded."], system_message="You bill.")
    GroupChat([desk, billing], "handoff", system_message="Be kind.").run_nonstream(ASK)
    assert [m.role for m in billing.llm.requests[0].messages] == ["system", "user"]
    assert "Be kind" not in billing.llm.requests[0].messages[0].content


def test_after_max_handoffs_the_member_has_no_transfer_tools_and_answers():
    a = member("a", [to("b"), "a answers"], "b")
    b = member("b", [to("c")], "c")
    c = member("c", [to("a")], "a")
    chat = GroupChat([a, b, c], "handoff", max_handoffs=3)
    response = chat.run_nonstream(ASK, max_round=10)
    assert response[-1].content == "a answers"
    assert a.llm.requests[0].function_names == ["transfer_to_b"]
    assert a.llm.requests[1].function_names == []


def test_handoffs_are_counted_for_each_run_anew():
    a = member("a", [to("b"), to("b")], "b")
    b = member("b", ["one", to("a"), "two"], "a")
    chat = GroupChat([a, b], "handoff", max_handoffs=2, max_ping_pong=None)
    state = TeamState()
    assert chat.run_nonstream(ASK, state=state)[-1].content == "one"
    assert chat.run_nonstream([Message("user", "More")], state=state)[-1].content == "two"


def test_ping_pong_between_two_is_bounded_while_others_can_still_be_reached():
    a = member("a", [to("b"), "a answers"], "b", "c")
    b = member("b", [to("a")], "a")
    chat = GroupChat([a, b, member("c", [])], "handoff", max_handoffs=9, max_ping_pong=2, max_stalled_rounds=None)
    assert chat.run_nonstream(ASK, max_round=9)[-1].content == "a answers"
    assert a.llm.requests[1].function_names == ["transfer_to_c"]


def test_only_on_failure_forbids_passing_on_until_a_tool_failed():
    rule = Handoff("billing", rule="only_on_failure")
    desk = member("desk", [to("billing"), call("broken"), to("billing")], rule, tools=[Broken()])
    billing = member("billing", ["Refunded."])
    response = GroupChat([desk, billing], "handoff").run_nonstream(ASK)
    results = [m.content for m in response if m.role == "function"]
    assert "only after a tool has failed" in results[0]
    assert response[-1].content == "Refunded."


def test_a_streamed_handoff_is_told_of_once():
    desk = member("desk", [[call("look"), to("billing")]], "billing", tools=[Look("customer 7, gold")])
    events = list(GroupChat([desk, member("billing", ["Refunded."])], "handoff").run_events(ASK))
    started = [event.name for event in events if isinstance(event, ToolCallStarted)]
    assert sorted(started) == ["look", "transfer_to_billing"]
    assert [(event.source, event.target) for event in events if isinstance(event, HandoffMade)] == [("desk", "billing")]


def test_a_handoff_to_somebody_outside_ends_the_talk():
    desk = member("desk", [to("manager")], "manager")
    response = GroupChat([desk], "handoff").run_nonstream(ASK)
    assert response[-1].extra["end"] == "handoff"


def test_a_handoff_can_be_a_termination():
    desk = member("desk", [to("human")], "human")
    state = TeamState()
    chat = GroupChat([desk, UserAgent(name="human")], "handoff", termination=HandoffTo("human"))
    response = chat.run_nonstream(ASK, state=state)
    assert response[-1].extra["end"] == "handoff"
    assert state.stop_reason == "Handed over to human"


def test_a_human_gives_the_conversation_back_to_who_handed_it_over():
    desk = member("desk", [to("ada"), "Thank you, Ada."], "ada")
    chat = GroupChat(
        [member("first", [to("desk")], "desk"), desk, UserAgent(name="ada", input_func=lambda m: "7")], "handoff"
    )
    response = chat.run_nonstream(ASK, max_round=4)
    assert speakers(response) == ["first", "desk", "ada", "desk"]


def test_an_agent_of_ones_own_may_hand_over_by_a_note():
    class Own(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "Ask Ken", extra={"handoff": {"target": "Ken"}})]

    chat = GroupChat([Own(name="Mia"), member("Ken", ["Here."])], "handoff")
    assert speakers(chat.run_nonstream(ASK)) == ["Mia", "Ken"]


def test_the_members_themselves_are_not_changed():
    desk = FnCallAgent(llm=ScriptedChatModel([to("billing")]), name="desk", handoffs=[member("billing", [])])
    GroupChat([desk, member("billing", ["Done."])], "handoff").run_nonstream(ASK)
    assert desk.handoff_mode == "continue"
    assert desk.max_handoffs == 3


# ---- talks that bring nothing


@pytest.mark.parametrize("nothing", ["", "Sorry, I can't help with that.", "抱歉，我无法回答这个问题。"])
def test_empty_and_refusing_turns_close_the_talk_after_two(nothing):
    a, b = member("a", ["Useful."]), member("b", [nothing])
    c = member("c", [nothing])
    response = GroupChat([a, b, c], "round_robin", max_round=9).run_nonstream(ASK)
    assert response[-1].extra["end"] == "limit:stalled_rounds"
    assert [m.content for m in response] == [
        "Useful.",
        nothing,
        nothing,
        "Useful.\n\n(The talk was closed: 2 rounds in a row brought nothing.)",
    ]
    assert response[-1].name == "host"


def test_what_counts_as_declining_is_the_programs_to_say():
    model = ScriptedChatModel(["pass", "Sorry, I cannot.", "pass", "pass"])
    chat = GroupChat(
        [FnCallAgent(llm=model, name=name) for name in "ab"],
        "round_robin",
        refuses=lambda text: text == "pass",
        prompts={"closed": "{reason} [{best}]"},
        name="desk",
    )
    last = chat.run_nonstream(ASK, max_round=9)[-1]
    assert (last.name, last.content) == ("desk", "2 rounds in a row brought nothing [Sorry, I cannot.]")


def test_a_handoff_of_an_agent_of_ones_own_is_an_event_too():
    class Own(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "Ask Ken", extra={"handoff": {"target": "Ken"}})]

    for first in (Own(name="Mia"), member("Mia", [to("ken")], "Ken")):
        chat = GroupChat([first, member("Ken", ["Here."])], "handoff")
        made = [event for event in chat.run_events(ASK) if isinstance(event, HandoffMade)]
        assert [(event.source, event.target) for event in made] == [("Mia", "Ken")]


def test_handing_round_in_a_circle_closes_the_talk_and_says_why():
    a = member("a", [to("b"), to("b")], "b")
    b = member("b", [to("a")], "a")
    state = TeamState()
    chat = GroupChat([a, b], "handoff", max_handoffs=None, max_ping_pong=None)
    response = chat.run_nonstream(ASK, max_round=9, state=state)
    assert response[-1].extra["end"] == "limit:stalled_rounds"
    assert state.stop_reason == "2 rounds in a row brought nothing"


def test_a_useful_turn_starts_the_count_anew():
    model = ScriptedChatModel(["", "Useful.", "", "Useful."])
    chat = GroupChat([FnCallAgent(llm=model, name=name) for name in "ab"], "round_robin", max_round=4)
    assert len(chat.run_nonstream(ASK)) == 4
