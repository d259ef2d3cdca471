"""`Team`: what group chats, graphs and orchestrators have in common."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.conditions import Moderator
from qwen_agentkit.agents.group.handoffs import as_member
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.termination import News, Stop, Termination
from qwen_agentkit.agents.group.turns import used
from qwen_agentkit.agents.group.views import owners_of, talk_for_team, view_for
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub, check_members
from qwen_agentkit.events import SpeakerSelected
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import SYSTEM, Message
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs

_LIMITS = ("model_calls", "tool_calls", "tokens", "seconds", "cost")


class Team(Agent, MultiAgentHub):
    """Agents who work on one conversation; itself an agent.

    Args:
        agents: The members.
        termination: Ends the work; see `agents.group.conditions`.
        moderator: An agent that judges after each turn whether the task is done.
        max_response_tokens: Bound of each answer in tokens: one for all, or a dict by member.
        **kwargs: As for `Agent`; the `system_message` goes to every member.

    Raises:
        ValueError: Members that cannot form a team, a termination that is none.
    """

    # As a member of another team it wants to know who said what.
    takes_named_messages = True

    def __init__(
        self,
        agents: Sequence[Agent],
        *,
        termination: Termination | None = None,
        moderator: Agent | None = None,
        max_response_tokens: int | Mapping[str, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._agents = check_members(agents, type(self).__name__)
        if termination is not None and not isinstance(termination, Termination):
            raise ValueError(f"termination is a condition of qwen_agentkit.agents, not {termination!r}")
        if moderator is not None:
            judged = Moderator(moderator)
            termination = judged if termination is None else termination | judged
        self.termination = termination
        self._speakers: dict[str, Agent] = {
            agent.name or "": as_member(_bounded(agent, max_response_tokens)) for agent in self._agents
        }

    def with_speakers(self, speakers: Mapping[str, Agent]) -> Any:
        """A copy of the team in which others stand in for some members: for rehearsals and tests.

        Args:
            speakers: Who speaks in place of the member of that name.

        Raises:
            ValueError: A name is no member's.
        """
        unknown = [name for name in speakers if name not in self._speakers]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no member; the members are: {', '.join(self._speakers)}")
        copied = copy.copy(self)
        copied._speakers = {**self._speakers, **speakers}
        return copied

    # ---- what a subclass's _run calls ----------------------------------------------------------------------

    @property
    def _identity(self) -> dict[str, Any]:
        return {"kind": type(self).__name__, "members": self.agent_names}

    @staticmethod
    def _own_state(state: Any, kwargs: dict[str, Any]) -> TeamState | None:
        """The run's `state` when it is a team's; anything else under that name belongs to the members' tools."""
        if state is None or isinstance(state, TeamState):
            return state
        kwargs["state"] = state
        return None

    def _begin(
        self, state: TeamState, messages: list[Message], lang: str, seed: int | None = None, **start: Any
    ) -> tuple[Termination | None, Stop | None]:
        """Starts a run, or takes up one that was broken off.

        Args:
            state: The team's state.
            messages: What is new.
            lang: Language of the messages.
            seed: For choices by chance.
            **start: For `_start`.

        Returns:
            The run's own copy of the termination, and why nobody need speak (None when somebody must).
        """
        condition = self.termination.fresh() if self.termination is not None else None
        if state.open and state.is_same_request(messages):
            if condition is not None and "termination" in state.rules:
                condition.load_state(state.rules["termination"])
            self._start(state, messages, resumed=True, **start)
            return condition, self._out_of_budget()
        if state.messages:
            messages = [message for message in messages if message.role != SYSTEM]
        # Nothing new to tell the language by: the talk goes on in its own.
        lang = state.lang if state.lang and not messages else lang
        state.begin(messages, owners_of(messages, self._agents), lang)
        state.rule("selection").setdefault("seed", random.randrange(2**31) if seed is None else seed)
        self._start(state, messages, resumed=False, **start)
        stop = self._out_of_budget()
        if stop is None and condition is not None:
            stop = condition.check(self._news(state, 0, task=True))
            state.rules["termination"] = condition.save_state()
        return condition, stop

    def _start(self, state: TeamState, messages: list[Message], resumed: bool) -> None:
        """Sets up what the kind of team remembers for one run."""

    def _view(self, name: str, state: TeamState, intro: str = "") -> list[Message]:
        """The conversation as a member sees it."""
        show = talk_for_team if getattr(self._speakers[name], "takes_named_messages", False) else view_for
        return show(name, state.messages, state.owners, intro)

    def _check(
        self, state: TeamState, count: int, condition: Termination | None, handed_to: str | None = None
    ) -> Stop | None:
        """Tells the termination of a turn of `count` messages; says why the work is over, if it is."""
        stop = None
        if condition is not None and not condition.fired:
            stop = condition.check(self._news(state, count, handed_to=handed_to))
            state.rules["termination"] = condition.save_state()
        return stop or self._out_of_budget()

    @staticmethod
    def _news(state: TeamState, count: int, task: bool = False, handed_to: str | None = None) -> News:
        start = 0 if task else len(state.messages) - count
        return News(
            messages=state.messages[start:],
            speakers=state.owners[start:],
            task=task,
            turns=0 if task else 1,
            handed_to=handed_to,
            usage=used(),
            conversation=state.messages,
            lang=state.lang or "en",
        )

    @staticmethod
    def _out_of_budget() -> Stop | None:
        """Why the run may use nothing more, None when it may. Raises RunCancelled."""
        run = current_run()
        if run is None:
            return None
        run.cancel.raise_if_cancelled()
        which = run.ledger.exceeded()
        return Stop(f"The limit of {which} is reached", f"limit:{which}") if which else None

    @staticmethod
    def _tell(speaker: str | None, candidates: Sequence[str], reason: str) -> None:
        run = current_run()
        if run is not None:
            run.emit(SpeakerSelected, speaker=speaker, candidates=list(candidates), reason=reason)

    def _end(self, state: TeamState, stop: Stop) -> list[Message]:
        """Closes the run. Returns the response, its last message saying how it ended."""
        self._tell(None, [], stop.reason)
        if state.response and stop.end != "answered":
            last = state.messages[-1]
            state.messages[-1] = last.model_copy(update={"extra": {**(last.extra or {}), "end": stop.end}})
        state.rules.pop("termination", None)
        state.end(stop.reason)
        return state.response


def budget_left() -> str:
    """What is left of the limits of the run under way, in words; empty without limits."""
    run = current_run()
    left = {} if run is None else {name: run.ledger.remaining(name) for name in _LIMITS}
    return ", ".join(f"{value:.6g} {name.replace('_', ' ')}" for name, value in left.items() if value is not None)


def check_bound(name: str, bound: Any) -> None:
    """Raises ValueError unless a bound is None or a whole number of at least 1."""
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 1):
        raise ValueError(f"{name} is a whole number of at least 1 or None, not {bound!r}")


def _bounded(agent: Agent, max_response_tokens: int | Mapping[str, int] | None) -> Agent:
    """The member, with a bound on its answers; the caller's own agent is not changed."""
    bound = (
        max_response_tokens.get(agent.name or "") if isinstance(max_response_tokens, Mapping) else max_response_tokens
    )
    if bound is None:
        return agent
    check_bound("max_response_tokens", bound)
    bounded = copy.copy(agent)
    bounded.extra_generate_cfg = merge_generate_cfgs(agent.extra_generate_cfg, {"max_response_tokens": bound})
    return bounded
