"""Looking a team over before any model is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.conditions import HandoffTo, SourceIs, TextMention, TextMessage
from qwen_agentkit.agents.group.model_selection import ByModel, Hybrid
from qwen_agentkit.agents.group.names import fold
from qwen_agentkit.agents.group.selection import AmongCandidates, ByFunction, ByHandoff
from qwen_agentkit.agents.group.termination import Termination, _Joined
from qwen_agentkit.agents.group_chat import GroupChat
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.agents.router import Router
from qwen_agentkit.agents.user_agent import UserAgent

ERROR, WARNING = "error", "warning"
_RESERVED = ("user", "assistant", "system", "function", "tool", "stop")


@dataclass(frozen=True)
class Finding:
    """Something about a team that is wrong or will surprise.

    Args:
        level: `error` (it cannot work) or `warning`.
        team: Where: the team's name, or the way to it.
        text: What, and how to mend it.
    """

    level: str
    team: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.team}: {self.text}"


def check_team(team: Agent, where: str = "") -> list[Finding]:
    """Looks a team over, and the teams inside it. No model is called.

    Args:
        team: A group chat, graph, router, orchestrator, or any agent (which has nothing to be found).
        where: The way to it, for the findings.

    Returns:
        What was found, errors first.
    """
    place = where or team.name or type(team).__name__
    found = sorted(_findings(team, place), key=lambda finding: finding.level)
    if isinstance(team, MultiAgentHub):
        for member in team.agents:
            if isinstance(member, MultiAgentHub):
                found += check_team(member, f"{place}/{member.name}")
    return found


def _findings(team: Any, place: str) -> Iterator[Finding]:
    if not isinstance(team, MultiAgentHub):
        return
    yield from _names(team, place)
    yield from _handoffs(team, place)
    yield from _conditions(team, place)
    if isinstance(team, GroupChat):
        yield from _group_chat(team, place)
    if isinstance(team, Router):
        yield from _router(team, place)
    if all(isinstance(agent, UserAgent) for agent in team.agents):
        yield Finding(WARNING, place, "all members are humans; nobody answers by itself")


def _names(team: MultiAgentHub, place: str) -> Iterator[Finding]:
    folded: dict[str, str] = {}
    for name in team.agent_names:
        if name.casefold() in _RESERVED:
            yield Finding(WARNING, place, f"the name {name!r} is also that of a role; give another one")
        other = folded.setdefault(fold(name), name)
        if other != name:
            yield Finding(WARNING, place, f"{other!r} and {name!r} are easily mixed up by a model; give clearer names")
    for member in team.agents:
        if isinstance(member, MultiAgentHub):
            for name in _inside(member, set()):
                if name in team.agent_names:
                    text = f"{name!r} is a member here and inside {member.name!r}; what they say cannot be told apart"
                    yield Finding(WARNING, place, text)


def _inside(team: MultiAgentHub, seen: set[int]) -> Iterator[str]:
    seen.add(id(team))
    for agent in team.agents:
        yield agent.name or ""
        if isinstance(agent, MultiAgentHub) and id(agent) not in seen:
            yield from _inside(agent, seen)


def _targets(agent: Any) -> list[str]:
    return [tool.handoff.target_name for tool in (getattr(agent, "handoff_map", None) or {}).values()]


def _handoffs(team: Any, place: str) -> Iterator[Finding]:
    ends_there = _handoff_ends(getattr(team, "termination", None))
    for agent in team.agents:
        for target in _targets(agent):
            if target not in team.agent_names and target not in ends_there:
                text = f"{agent.name!r} may hand over to {target!r}, who is no member; the members are: "
                yield Finding(ERROR, place, text + ", ".join(team.agent_names))


def _handoff_ends(termination: Termination | None) -> set[str]:
    return {condition.target for condition in _all(termination) if isinstance(condition, HandoffTo)}


def _all(termination: Termination | None) -> Iterator[Termination]:
    if isinstance(termination, _Joined):
        for member in termination.members:
            yield from _all(member)
    elif termination is not None:
        yield termination


def _conditions(team: Any, place: str) -> Iterator[Finding]:
    for condition in _all(getattr(team, "termination", None)):
        named: list[str] = []
        if isinstance(condition, (TextMention, SourceIs)):
            named = condition.sources or []
        elif isinstance(condition, TextMessage):
            named = [condition.source] if condition.source else []
        for name in named:
            if name not in team.agent_names:
                text = f"{type(condition).__name__} waits for {name!r}, who is no member and never speaks"
                yield Finding(ERROR, place, text)


def _group_chat(team: GroupChat, place: str) -> Iterator[Finding]:
    bounded = team.termination is not None and team.termination.bounded
    if team.termination is not None and not bounded and team.max_round is None:
        yield Finding(
            WARNING, place, "the termination may never be met; add | MaxRounds(n), else the talk ends after 100 turns"
        )
    selection: Any = team._selection
    while isinstance(selection, (AmongCandidates, ByFunction, Hybrid)):
        selection = selection.selection if isinstance(selection, AmongCandidates) else selection.otherwise
    if isinstance(selection, ByModel):
        for agent in team.agents:
            if not agent.description:
                yield Finding(WARNING, place, f"{agent.name!r} has no description, by which the host could choose it")
    if isinstance(team._selection, ByHandoff):
        reached = _reached(team, team.agent_names[0])
        for agent in team.agents:
            if agent.name not in reached:
                text = f"{agent.name!r} is never reached: nobody who speaks before may hand over to it"
                yield Finding(ERROR, place, text)
    elif not team.allow_repeated_speaker and len(team.agents) == 1:
        yield Finding(WARNING, place, "one member that may not speak twice in a row speaks all the same")


def _reached(team: GroupChat, first: str) -> set[str]:
    members = {agent.name or "": agent for agent in team.agents}
    reached, waiting = set(), [first]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in members:
            continue
        reached.add(name)
        # An agent of one's own may hand over without saying so beforehand.
        targets = _targets(members[name]) if hasattr(members[name], "handoff_map") else list(members)
        waiting += targets if not isinstance(members[name], UserAgent) else []
    return reached


def _router(team: Router, place: str) -> Iterator[Finding]:
    if team.routing != "rule":
        for agent in team.agents:
            if not agent.description:
                yield Finding(WARNING, place, f"{agent.name!r} has no description, by which the model could choose it")
    ruled = {rule.worker for rule in team.rules} | {team.default}
    if team.routing == "rule":
        for agent in team.agents:
            if agent.name not in ruled:
                yield Finding(ERROR, place, f"no rule leads to {agent.name!r}, and it is not the default")
