"""`MultiAgentHub`: what has agents of its own, a team or a router."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from qwen_agentkit.agent import Agent


def check_members(agents: object, owner: str = "a team") -> list[Agent]:
    """The agents as a list, when they can form a team.

    Args:
        agents: What was given.
        owner: Who wants them, for the message.

    Raises:
        ValueError: There are none, one is no agent, one has no name, or two share a name.
    """
    if not isinstance(agents, Sequence) or isinstance(agents, (str, bytes)) or not agents:
        raise ValueError(f"{owner} wants a list of at least one agent, not {agents!r}")
    for position, agent in enumerate(agents):
        if not isinstance(agent, Agent):
            raise ValueError(f"{owner}: agents[{position}] is no Agent but {type(agent).__name__} {agent!r}")
        if not agent.name or not isinstance(agent.name, str):
            raise ValueError(f"{owner}: agents[{position}] ({type(agent).__name__}) has no name; give name='...'")
    names = [agent.name for agent in agents]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{owner}: the names of its agents must differ; given more than once: {', '.join(twice)}")
    return list(agents)


class MultiAgentHub(ABC):
    """Mixed into a class that keeps its agents in `self._agents`.

    The list is checked whenever it is asked for, since a program may set `_agents` itself.
    """

    _agents: list[Agent]

    @property
    def agents(self) -> list[Agent]:
        """The agents, in order.

        Raises:
            ValueError: There are none, one has no name, or two share a name.
        """
        agents = check_members(getattr(self, "_agents", None), type(self).__name__)
        # The very list of the program, as far as it is one: some append to it.
        return self._agents if isinstance(self._agents, list) else agents

    @property
    def agent_names(self) -> list[str]:
        """Their names, in order."""
        return [agent.name or "" for agent in self.agents]

    @property
    def nonuser_agents(self) -> list[Agent]:
        """Those that are not a human."""
        from qwen_agentkit.agents.user_agent import UserAgent

        return [agent for agent in self.agents if not isinstance(agent, UserAgent)]
