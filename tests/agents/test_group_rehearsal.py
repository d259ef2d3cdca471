"""Rehearsing a team without any model."""

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.graph import Graph
from qwen_agentkit.agents.group.conditions import MaxRounds, TextMention
from qwen_agentkit.agents.group.edges import Edge
from qwen_agentkit.agents.group.rehearsal import ScriptedSpeaker, hands_over, rehearse
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.transcripts import difference, transcript
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.user_agent import UserAgent
from qwen_agentkit.testing import ScriptedChatModel

MEMBERS = [
    BasicAgent(name="Mia", description="asks"),
    BasicAgent(name="Ken", description="doubts"),
    UserAgent(name="Ada"),
]


def test_the_same_lines_and_seed_give_the_same_talk():
    chat = GroupChat(MEMBERS, "random", max_round=6)
    lines = {name: [f"{name} {number}" for number in range(6)] for name in ("Mia", "Ken", "Ada")}
    first, second = (rehearse(chat, "Go", lines, seed=7) for _ in range(2))
    assert transcript(first) == transcript(second)
    assert any(difference(first, rehearse(chat, "Go", lines, seed=seed)) for seed in range(5))


def test_a_rehearsal_tells_who_spoke_why_and_why_it_ended():
    chat = GroupChat(MEMBERS, "round_robin", termination=TextMention("AGREED") | MaxRounds(9))
    talk = rehearse(chat, "Build it?", {"Mia": ["Why?"], "Ken": ["Costly."], "Ada": ["AGREED"]})
    assert (talk.turns[0].speaker, talk.turns[0].reason) == ("Mia", "next in turn")
    assert talk.stop_reason == "'AGREED' was said by Ada"


def test_lines_may_hand_over_and_may_depend_on_what_was_said():
    chat = GroupChat(MEMBERS[:2], "handoff")
    lines = {"Mia": [hands_over("Ken", "Ken knows")], "Ken": [lambda seen: f"I saw {len(seen)}"]}
    assert [message.content for message in rehearse(chat, "Go", lines).response] == ["Ken knows", "I saw 1"]


def test_a_team_with_a_host_is_rehearsed_with_scripted_choices():
    host = ScriptedChatModel([])
    chat = GroupChat(MEMBERS, llm=host, max_round=9)
    lines = {"Mia": ["one", "three"], "Ken": ["two"]}
    talk = rehearse(chat, "Go", lines, choices=["Mia", "Ken", "Mia"])
    assert [message.content for message in talk.response] == ["one", "two", "three"]
    assert talk.stop_reason == "the scripted choices are over"
    assert host.requests == []
    assert chat._selection is not None
    with pytest.raises(ValueError, match="A Graph chooses nobody"):
        rehearse(Graph(MEMBERS[:1], []), "Go", {}, choices=["Mia"])


def test_a_graph_is_rehearsed_in_the_same_way():
    graph = Graph(MEMBERS[:2], [("Mia", "Ken"), Edge("Ken", "Mia", "again")], start="Mia", max_steps=9)
    talk = rehearse(graph, "Go", {"Mia": ["one", "two"], "Ken": ["again", "done"]})
    assert [message.content for message in talk.response] == ["one", "again", "two", "done"]


def test_a_rehearsal_goes_on_with_a_forked_talk():
    chat = GroupChat(MEMBERS[:2], "round_robin", max_round=3)
    lines = {"Mia": ["one", "three"], "Ken": ["two"]}
    talk = rehearse(chat, "Go", lines)
    other = rehearse(chat, [], {**lines, "Ken": ["TWO"]}, state=talk.fork(at=1))
    assert [message.content for message in other.response] == ["one", "TWO", "three"]
    assert "+TWO" in difference(talk, other)


def test_the_team_itself_is_not_changed():
    chat = GroupChat(MEMBERS[:2], "round_robin", max_round=1)
    rehearse(chat, "Go", {"Mia": ["one"]})
    assert chat.agents == MEMBERS[:2]
    assert chat._speakers["Mia"] is MEMBERS[0]


def test_lines_for_nobody_and_too_few_lines_are_errors():
    chat = GroupChat(MEMBERS[:2], "round_robin", max_round=3)
    with pytest.raises(ValueError, match="'Zoe' is no member"):
        rehearse(chat, "Go", {"Zoe": []})
    with pytest.raises(ValueError, match="has 1 lines for 'Mia', who speaks once more"):
        rehearse(chat, "Go", {"Mia": ["one"], "Ken": ["two"]})
    with pytest.raises(ValueError, match="are a list"):
        ScriptedSpeaker("Mia", "one")


def test_lines_may_begin_again():
    chat = GroupChat([ScriptedSpeaker("Mia", ["a", "b"], repeat=True)], "round_robin", max_round=5)
    state = TeamState()
    chat.run_nonstream([{"role": "user", "content": "Go"}], state=state)
    assert "".join(message.content for message in state.response) == "ababa"
