"""The agents of a page: who may be asked, how they are called, and their colours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub, check_members
from qwen_agentkit.agents.user_agent import UserAgent

# Colours of `page.css`, `qak-c0` and on.
COLOURS = 8


@dataclass(frozen=True)
class Cast:
    """Who is on the page.

    Args:
        runners: Whom a message may go to, by name; one for a single agent or a team.
        speakers: All who speak, in order; their place gives their colour.
        people: Names of the humans in a team.
        is_team: Whether the one runner is a team.
    """

    runners: Mapping[str, Agent]
    speakers: tuple[str, ...]
    people: tuple[str, ...] = ()
    is_team: bool = False

    @property
    def named(self) -> bool:
        """Whether messages show who speaks."""
        return len(self.speakers) > 1

    def badge(self, name: str) -> str:
        """A speaker's name as HTML, in their colour."""
        place = self.speakers.index(name) if name in self.speakers else len(self.speakers)
        return f'<span class="qak-name qak-c{place % COLOURS}">{escape(name)}</span>'

    def runner(self, name: str | None) -> Agent:
        """Whom a message goes to: the one of that name, else the first."""
        return self.runners.get(name or "") or next(iter(self.runners.values()))


def cast_of(agent: Agent | MultiAgentHub | Sequence[Agent]) -> Cast:
    """The cast of what a `WebUI` was given.

    Args:
        agent: An agent, a team that is an agent too, a hub of agents that each can be asked, or a list of agents.

    Raises:
        ValueError: It is none of these, the list is empty, or its agents have no names or share one.
    """
    if isinstance(agent, MultiAgentHub):
        members = agent.agents
        people = tuple(one.name or "" for one in members if isinstance(one, UserAgent))
        speakers = tuple(one.name or "" for one in members)
        if isinstance(agent, Agent):
            return Cast({label(agent): agent}, speakers, people, is_team=True)
        return Cast({one.name or "": one for one in agent.nonuser_agents}, speakers, people)
    if isinstance(agent, Agent):
        return Cast({label(agent): agent}, (label(agent),))
    if isinstance(agent, Sequence) and not isinstance(agent, (str, bytes)) and agent:
        if len(agent) == 1 and isinstance(agent[0], Agent):
            return cast_of(agent[0])
        members = check_members(agent, "WebUI")
        return Cast({one.name or "": one for one in members}, tuple(one.name or "" for one in members))
    raise ValueError(f"WebUI wants an agent, a team, or a list of agents, not {type(agent).__name__} {agent!r:.200}")


def label(agent: Agent) -> str:
    """What to call an agent that may have no name."""
    return agent.name or type(agent).__name__


def mentioned(text: str, names: Sequence[str]) -> str | None:
    """The last of the names that a text mentions as `@name`, None when it mentions none.

    A longer name goes before one that begins it.
    """
    longest_first = sorted((name for name in names if name), key=len, reverse=True)
    if not longest_first:
        return None
    # Not in an address: what stands before the sign is no letter or digit.
    pattern = re.compile(rf"(?<![A-Za-z0-9_])@({'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9_])", re.I)
    found = pattern.findall(text)
    by_folded = {name.casefold(): name for name in names}
    return by_folded[found[-1].casefold()] if found else None
