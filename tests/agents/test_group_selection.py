"""Who speaks next."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.agent import Agent, BasicAgent
from qwen_agentkit.agents.group.model_selection import ByModel, Hybrid
from qwen_agentkit.agents.group.selection import (
    AmongCandidates,
    ByFunction,
    Choice,
    Manual,
    RandomSpeaker,
    RoundRobin,
    SpeakerSelection,
)
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.group_chat_auto_router import GroupChatAutoRouter
from qwen_agentkit.events import SpeakerSelected
from qwen_agentkit.schema import Message
from qwen_agentkit.testing import ScriptedChatModel

ASK = [Message("user", "Go")]
MORE = [Message("user", "More")]


class Talker(Agent):
    def _run(self, messages, lang="en", **kwargs):
        yield [Message("assistant", f"{self.name} talks")]


MEMBERS = [Talker(name=name, description=name) for name in "ABC"]


def host(*answers):
    return GroupChatAutoRouter(llm=ScriptedChatModel(list(answers)), agents=MEMBERS, name="host")


def order(selection, rounds=4, messages=ASK, state=None, **kwargs):
    chat = GroupChat(MEMBERS, selection, max_round=rounds, **kwargs)
    return "".join(message.name for message in chat.run_nonstream(messages, state=state))


def test_with_a_state_round_robin_goes_on_in_the_next_run():
    state = TeamState()
    assert order(RoundRobin(), 2, state=state) == "AB"
    assert order(RoundRobin(), 2, MORE, state) == "CA"
    assert order(RoundRobin(), 2, MORE, TeamState()) == "AB"


def test_a_function_decides_and_may_leave_it_to_the_order():
    assert order(ByFunction(lambda messages: "C" if len(messages) == 1 else None)) == "CABC"


def test_a_function_that_names_somebody_else_is_an_error():
    with pytest.raises(ValueError, match="named 'Z', who cannot speak now; candidates: A, B, C"):
        order(ByFunction(lambda messages: "Z"))


def test_a_functions_choice_counts_as_the_previous_speaker():
    chosen = iter(["B", None])
    assert order(ByFunction(lambda messages: next(chosen)), 2, allow_repeated_speaker=False) == "BC"


def test_candidates_by_function_bound_the_choice():
    assert order(AmongCandidates(lambda messages: ["A", "C"])) == "ACAC"
    model = host("B", "C")
    # The model may not choose who is no candidate, though it is a member.
    assert order(AmongCandidates(lambda messages: ["A", "C"], ByModel(model)), 1) == "C"
    model.llm.assert_complete()


def test_one_candidate_needs_no_model_call():
    model = host()
    assert order(AmongCandidates(lambda messages: ["B"], ByModel(model)), 1) == "B"
    assert model.llm.requests == []


@pytest.mark.parametrize(
    ("names", "says"),
    [([], "at least one name"), ("A", "at least one name"), (["Z"], "named 'Z'; members are: A, B, C")],
)
def test_candidates_that_make_no_sense_are_an_error(names, says):
    with pytest.raises(ValueError, match=says):
        order(AmongCandidates(lambda messages: names))


def test_a_fallback_is_never_a_forbidden_speaker():
    model = host("A", *["nobody"] * 9)
    assert order(ByModel(model), 4, allow_repeated_speaker=False) == "ABCA"


def test_a_forbidden_speaker_that_the_model_names_is_not_heard():
    model = host("A", "A", "A", "A")
    assert order(ByModel(model), 2, allow_repeated_speaker=False) == "AB"
    assert "A: A\n" not in model.llm.requests[1].messages[0].content


def test_any_agent_can_be_the_host():
    class Reverse(Agent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "The next is c.")]

    assert order(ByModel(Reverse(name="host")), 2) == "CC"
    assert order(ByModel(BasicAgent(llm=ScriptedChatModel(["who?"]), name="host")), 1) == "A"
    assert order(ByModel(BasicAgent(llm=ScriptedChatModel(["[STOP]"]), name="host")), 1) == ""


def test_rules_are_free_and_the_model_is_asked_only_when_none_or_several_fire():
    rules = [
        lambda messages: "A" if "alpha" in messages[-1].content else None,
        lambda messages: "B" if "beta" in messages[-1].content else None,
    ]
    model = host("C", "B")
    hybrid = Hybrid(rules, ByModel(model))
    assert order(hybrid, 1, [Message("user", "alpha")]) == "A"
    assert model.llm.requests == []
    assert order(hybrid, 1, [Message("user", "gamma")]) == "C"
    assert order(hybrid, 1, [Message("user", "alpha beta")]) == "B"
    assert "C: C" not in model.llm.requests[1].messages[0].content
    with pytest.raises(ValueError, match="A rule named 'Z'"):
        order(Hybrid([lambda messages: "Z"], RoundRobin()))


def test_by_hand_a_name_may_be_written_loosely():
    asked = []

    def ask(question):
        asked.append(question)
        return " c "

    assert order(Manual(ask), 1) == "C"
    assert asked == ["Who speaks next? (A, B, C): "]
    order(Manual(ask), 1, [Message("user", "请开始")])
    assert "由谁发言" in asked[1]


def test_a_selection_of_ones_own_is_a_class_with_one_method():
    class Last(SpeakerSelection):
        def choose(self, situation):
            situation.memory["asked"] = situation.memory.get("asked", 0) + 1
            return Choice(situation.candidates[-1], f"asked {situation.memory['asked']} times")

    chat = GroupChat(MEMBERS, Last(), max_round=2)
    reasons = [event.reason for event in chat.run_events(ASK) if isinstance(event, SpeakerSelected)]
    assert reasons[:2] == ["asked 1 times", "asked 2 times"]

    class Wrong(SpeakerSelection):
        def choose(self, situation):
            return Choice("Z", "why not")

    with pytest.raises(ValueError, match="The selection chose 'Z'"):
        order(Wrong())


@given(st.integers(0, 2**31), st.integers(1, 12))
def test_chance_with_a_seed_gives_the_same_talk(seed, rounds):
    assert order(RandomSpeaker(seed), rounds) == order(RandomSpeaker(seed), rounds)


@given(st.lists(st.sampled_from(["A", "B", "C", "nobody", "a or b", "[STOP]", ""]), min_size=12, max_size=12))
def test_whatever_the_host_answers_the_speakers_are_members_and_never_repeat_when_forbidden(answers):
    spoken = order(ByModel(host(*answers)), 4, allow_repeated_speaker=False)
    assert set(spoken) <= set("ABC")
    assert all(one != other for one, other in itertools.pairwise(spoken))
