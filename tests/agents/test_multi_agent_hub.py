"""What has agents of its own."""

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.agents.user_agent import UserAgent


class Hub(MultiAgentHub):
    def __init__(self, agents):
        self._agents = agents


def test_a_hub_hands_out_its_agents_their_names_and_those_that_are_no_human():
    mia, ada = BasicAgent(name="Mia"), UserAgent(name="Ada")
    hub = Hub([mia, ada])
    assert hub.agents == [mia, ada]
    assert hub.agent_names == ["Mia", "Ada"]
    assert hub.nonuser_agents == [mia]


@pytest.mark.parametrize(
    ("agents", "says"),
    [
        ([], "at least one agent"),
        (None, "at least one agent"),
        (["Mia"], "is no Agent"),
        ([BasicAgent()], "has no name"),
        ([BasicAgent(name="Mia"), BasicAgent(name="Mia")], "more than once: Mia"),
    ],
)
def test_agents_that_cannot_form_a_team_are_refused_with_the_reason(agents, says):
    with pytest.raises(ValueError, match=says):
        _ = Hub(agents).agents


def test_a_hub_that_forgot_its_agents_says_so():
    class Forgetful(MultiAgentHub):
        pass

    with pytest.raises(ValueError, match="Forgetful wants a list of at least one agent"):
        _ = Forgetful().agents
