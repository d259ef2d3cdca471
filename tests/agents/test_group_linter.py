"""Looking a team over before any model is called."""

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.conditions import HandoffTo, MaxRounds, SourceIs, TextMention, TextMessage
from qwen_agentkit.agents.group.linter import check_team
from qwen_agentkit.agents.group.selection import ByHandoff
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.router import Router
from qwen_agentkit.agents.user_agent import UserAgent
from qwen_agentkit.testing import ScriptedChatModel


def agent(name, description="x"):
    return BasicAgent(name=name, description=description)


def giver(name, *targets):
    return FnCallAgent(name=name, handoffs=list(targets), handoff_mode="return")


def texts(team):
    return [str(finding) for finding in check_team(team)]


def model():
    return ScriptedChatModel([])


def test_a_sound_team_and_a_lone_agent_have_no_findings():
    assert check_team(GroupChat([agent("Mia"), agent("Ken")], llm=model(), termination=MaxRounds(5))) == []
    assert check_team(GroupChat([giver("Mia", "Ken"), giver("Ken", "Mia")], "handoff")) == []
    assert check_team(agent("Mia")) == []


@pytest.mark.parametrize(
    ("team", "says"),
    [
        (
            lambda: GroupChat([agent("Ann"), agent("ann")], "round_robin"),
            "warning: GroupChat: 'Ann' and 'ann' are easily",
        ),
        (lambda: GroupChat([agent("user")], "round_robin"), "name 'user' is also that of a role"),
        (
            lambda: GroupChat([giver("a", "z")], "handoff"),
            "error: GroupChat: 'a' may hand over to 'z', who is no member",
        ),
        (
            lambda: GroupChat([giver("a", "b"), giver("b"), giver("c")], "handoff"),
            "error: GroupChat: 'c' is never reached",
        ),
        (lambda: GroupChat([agent("a")], "round_robin", termination=TextMention("x")), "may never be met"),
        (lambda: GroupChat([agent("a")], "round_robin", termination=SourceIs("z")), "SourceIs waits for 'z'"),
        (lambda: GroupChat([agent("a")], "round_robin", termination=TextMessage("z")), "TextMessage waits for 'z'"),
        (lambda: GroupChat([agent("a", "")], llm=model()), "'a' has no description"),
        (lambda: GroupChat([UserAgent(name="Ada")], "round_robin"), "all members are humans"),
        (lambda: Router(llm=model(), agents=[agent("a", "")]), "'a' has no description"),
        (
            lambda: Router(agents=[agent("a"), agent("b")], rules={"a": "x"}, routing="rule", default="a"),
            "error: Router: no rule leads to 'b'",
        ),
    ],
)
def test_what_is_wrong_or_will_surprise_is_found(team, says):
    assert any(says in text for text in texts(team()))


def test_a_handoff_that_ends_the_talk_needs_no_member():
    assert texts(GroupChat([giver("a", "human")], "handoff", termination=HandoffTo("human") | MaxRounds(9))) == []


def test_members_of_ones_own_may_hand_over_to_anybody():
    assert texts(GroupChat([agent("a"), agent("b")], ByHandoff())) == []


def test_teams_inside_are_looked_over_too_and_their_names():
    inner = GroupChat([agent("Mia"), agent("mia")], "round_robin", name="desk")
    found = texts(GroupChat([inner, agent("Mia")], "round_robin", name="house"))
    assert any(text.startswith("warning: house/desk: 'Mia' and 'mia'") for text in found)
    assert any("'Mia' is a member here and inside 'desk'" in text for text in found)


def test_errors_come_first():
    team = GroupChat([giver("user", "z")], "handoff", termination=TextMention("x"))
    assert [finding.level for finding in check_team(team)] == ["error", "warning", "warning"]
