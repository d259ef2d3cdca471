"""`GroupChat`: agents and humans who talk with each other.

A round is one turn of one speaker, here and wherever rounds are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.handoffs import HandoffBounds, filtered, with_open_handoffs
from qwen_agentkit.agents.group.model_selection import ByModel
from qwen_agentkit.agents.group.names import mentions_in, same_name
from qwen_agentkit.agents.group.progress import Progress, is_refusal
from qwen_agentkit.agents.group.prompts import Prompts, check_prompts, prompt
from qwen_agentkit.agents.group.roles import members_from
from qwen_agentkit.agents.group.selection import (
    ByHandoff,
    Choice,
    Manual,
    RandomSpeaker,
    RoundRobin,
    RoundTable,
    Situation,
    SpeakerSelection,
)
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.team import Team, budget_left, check_bound
from qwen_agentkit.agents.group.termination import Stop, Termination
from qwen_agentkit.agents.group.turns import TurnRun, handoff_target
from qwen_agentkit.agents.group.views import text_of
from qwen_agentkit.agents.group_chat_auto_router import GroupChatAutoRouter
from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.events import HandoffMade
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ASSISTANT, Message

METHODS = ("auto", "round_robin", "random", "manual", "handoff")
DEFAULT_ROUNDS = 3
# With a termination of the program's own: only against one that is never met.
MOST_ROUNDS = 100


class GroupChat(Team):
    """Members who speak one after the other; also an agent itself, so it can be a member, a tool, a service.

    Args:
        agents: The members, agents with names; or a configuration (see `agents.group.roles`).
        agent_selection_method: `auto` (a host with `llm` decides), `round_robin`, `random`, `manual` (asks at the
            keyboard), `handoff` (who was handed the conversation; a swarm), or a `SpeakerSelection`.
        function_list: Tools of the host.
        llm: Model of the host, and of members that a configuration describes.
        termination: Ends the talk; see `agents.group.conditions`.
        max_round: Turns of one run. None is 3 without a termination and 100 with one.
        round_table: Each member speaks once, then the human comments. Takes the place of the selection method.
        allow_repeated_speaker: Whether who spoke last may be chosen again.
        max_consecutive_same_speaker: Turns in a row of one speaker; None is no bound.
        max_handoffs: Handoffs of one run, after which members have no transfer tools and must answer; None is no
            bound.
        max_ping_pong: Handoffs of one run between the same two members, both ways together; None is no bound.
        max_stalled_rounds: Turns in a row that bring nothing (empty, refusing, handed on in a circle) after which
            the talk is closed, by a message with the last answer of use and the reason; None is no bound.
        refuses: Says of a reply's text whether it only declines.
        max_response_tokens: Bound of each answer in tokens: one for all, or a dict by member.
        moderator: An agent that judges after each turn whether the task is done.
        introduce: Whether members are told, in the conversation's language, who else is there. None is yes for
            members that a configuration describes and no for agents, which know what they are.
        show_budget: Whether each member is told what is left of the run's limits for the whole team. It changes from
            turn to turn, so a service's prompt cache helps less.
        prompts: Texts in place of the defaults in `agents.group.prompts`.
        **kwargs: As for `Agent`: `name`, `description`, and `system_message`, which every member gets.

    Raises:
        ValueError: Members that cannot form a team, an unknown method, `auto` without a model, a bound below 1.
    """

    def __init__(
        self,
        agents: Sequence[Agent] | Mapping[str, Any],
        agent_selection_method: str | SpeakerSelection = "auto",
        function_list: Any = None,
        llm: Any = None,
        *,
        termination: Termination | None = None,
        max_round: int | None = None,
        round_table: bool = False,
        allow_repeated_speaker: bool = True,
        max_consecutive_same_speaker: int | None = None,
        max_handoffs: int | None = 3,
        max_ping_pong: int | None = 2,
        max_stalled_rounds: int | None = 2,
        refuses: Callable[[str], bool] = is_refusal,
        max_response_tokens: int | Mapping[str, int] | None = None,
        moderator: Agent | None = None,
        introduce: bool | None = None,
        show_budget: bool = False,
        prompts: Prompts | None = None,
        **kwargs: Any,
    ) -> None:
        check_prompts(prompts)
        for name, bound in (
            ("max_round", max_round),
            ("max_consecutive_same_speaker", max_consecutive_same_speaker),
            ("max_handoffs", max_handoffs),
            ("max_ping_pong", max_ping_pong),
            ("max_stalled_rounds", max_stalled_rounds),
        ):
            check_bound(name, bound)
        configured = isinstance(agents, Mapping)
        if isinstance(llm, (dict, str)):
            from qwen_agentkit.llm import get_chat_model

            llm = get_chat_model(llm)  # one model for the host and all configured members
        super().__init__(
            members_from(agents, llm) if isinstance(agents, Mapping) else agents,
            termination=termination,
            moderator=moderator,
            max_response_tokens=max_response_tokens,
            llm=llm,
            **kwargs,
        )
        self.background = str(agents.get("background") or "") if isinstance(agents, Mapping) else ""
        self.max_round = max_round
        self.allow_repeated_speaker = allow_repeated_speaker
        self.max_consecutive_same_speaker = max_consecutive_same_speaker
        self.max_handoffs = max_handoffs
        self.max_ping_pong = max_ping_pong
        self.max_stalled_rounds = max_stalled_rounds
        self._refuses = refuses
        self._prompts = dict(prompts or {})
        self._introduce = configured if introduce is None else introduce
        self._show_budget = show_budget
        self.agent_selection_method = "round_table" if round_table else agent_selection_method
        self._selection = self._make_selection(self.agent_selection_method, function_list)

    def _make_selection(self, method: str | SpeakerSelection, function_list: Any) -> SpeakerSelection:
        if isinstance(method, SpeakerSelection):
            return method
        if method == "auto":
            if self.llm is None:
                raise ValueError("agent_selection_method='auto' needs a model for the host: give llm={'model': ...}")
            own = {key: text for key, text in self._prompts.items() if key.startswith("select")}
            self.host = GroupChatAutoRouter(function_list, self.llm, self._agents, name="host", prompts=own)
            return ByModel(self.host)
        simple = {
            "round_robin": RoundRobin,
            "random": RandomSpeaker,
            "manual": Manual,
            "handoff": ByHandoff,
            "round_table": RoundTable,
        }
        if method not in simple:
            raise ValueError(
                f"agent_selection_method is one of {', '.join(METHODS)} or a SpeakerSelection, not {method!r}"
            )
        return simple[method]()

    # ---- the talk

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        max_round: int | None = None,
        need_batch_response: bool = True,
        mentioned_agents_name: Sequence[str] | None = None,
        state: TeamState | None = None,
        decisions: Any = None,
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        """The talk.

        Args:
            messages: The conversation; with a `state` only what is new.
            lang: Language of the prompts.
            max_round: Turns of this run, in place of the team's.
            need_batch_response: False makes one turn.
            mentioned_agents_name: Members who speak first, in that order.
            state: The team's memory between runs. A run that was broken off or paused goes on when there is no
                new message, or the same ones again.
            decisions: About the tool calls for which a paused member waits, as for `FnCallAgent.resume`.
            **kwargs: For the members.
        """
        state = self._own_state(state, kwargs)
        kept = state if state is not None else TeamState()
        with kept.in_use(self._identity):
            condition, stop = self._begin(
                kept, messages, lang, kwargs.get("seed"), max_round=max_round, mentioned=mentioned_agents_name
            )
            progress = Progress(kept, self.max_stalled_rounds, self.max_consecutive_same_speaker, self._refuses)
            while stop is None:
                choice = self._next_speaker(kept, progress, keeps_state=state is not None and state.outlives_run)
                if choice.speaker is None:
                    stop = Stop(choice.reason)
                    break
                if not progress.may_speak(choice.speaker):
                    stop = progress.too_many(choice.speaker)
                    break
                kept.begin_turn(choice.speaker, choice.reason)
                turn = TurnRun(kept, condition, save=state is not None)
                for said in self._speak(turn, choice.speaker, kept, kwargs, decisions):
                    yield kept.response + said
                if turn.paused and kept.turn is not None:
                    kept.keep()
                    return
                decisions = None
                stop = self._after_turn(turn, kept, condition, progress)
                if stop is None and not need_batch_response:
                    stop = Stop("one turn was asked for")
            yield self._end(kept, stop)

    def _start(
        self,
        state: TeamState,
        messages: list[Message],
        resumed: bool,
        max_round: int | None = None,
        mentioned: Sequence[str] | None = None,
    ) -> None:
        check_bound("max_round", max_round)
        limits = state.rule("limits")
        if resumed:
            limits["max_round"] = max_round if max_round is not None else limits["max_round"]
            return
        default = DEFAULT_ROUNDS if self.termination is None else MOST_ROUNDS
        if self._at_round_table:
            default = len(self._agents) + 1
        limits["max_round"] = next((n for n in (max_round, self.max_round) if n is not None), default)
        Progress(state).begin()
        self._handoffs(state).begin()
        state.queue = self._called(messages, mentioned)

    @property
    def _at_round_table(self) -> bool:
        return isinstance(self._selection, RoundTable)

    def _called(self, messages: Sequence[Message], mentioned: Sequence[str] | None) -> list[str]:
        names = self.agent_names
        called = []
        for name in mentioned or ():
            member = same_name(name, names)
            if member is None:
                raise ValueError(f"mentioned_agents_name has {name!r}; the members are: {', '.join(names)}")
            called.append(member)
        if messages:
            called += mentions_in(text_of(messages[-1]), names)
        return list(dict.fromkeys(called))

    def _next_speaker(self, state: TeamState, progress: Progress, keeps_state: bool) -> Choice:
        """Who speaks now; who was broken off goes on, then handoffs, then mentions, then the selection decides."""
        if state.speaking is not None:
            return Choice(state.speaking, state.speaking_reason)
        state.mark()
        names = self.agent_names
        last = next((owner for owner in reversed(state.owners) if owner is not None), None)
        just_spoke = state.owners[-1] if state.owners else None
        candidates = [
            name
            for name in names
            if progress.may_speak(name) and (self.allow_repeated_speaker or name != just_spoke or len(names) == 1)
        ]
        handed_to = self._handoffs(state).take_target()
        if state.queue and handed_to is None:
            choice = Choice(state.queue.pop(0), "called by name")
        elif not candidates:
            choice = Choice(just_spoke, "nobody else is there")
        else:
            selection = self._selection if handed_to is None else ByHandoff()
            choice = selection.choose(
                Situation(
                    messages=state.messages,
                    owners=state.owners,
                    members=self._agents,
                    candidates=list(candidates),
                    last_speaker=last,
                    spoken=state.run_turns,
                    fresh=state.run_turns == 0 and just_spoke is None,
                    lang=state.lang or "en",
                    memory=state.rule("selection"),
                    keeps_state=keeps_state,
                    handed_to=handed_to,
                    has_termination=self.termination is not None,
                )
            )
        if choice.speaker is not None and choice.speaker not in names:
            raise ValueError(f"The selection chose {choice.speaker!r}; the members are: {', '.join(names)}")
        self._tell(choice.speaker, candidates, choice.reason)
        return choice

    def _speak(
        self, turn: TurnRun, name: str, state: TeamState, kwargs: Mapping[str, Any], decisions: Any
    ) -> Iterator[list[Message]]:
        lang = state.lang or "en"
        view = self._view(name, state, self._introduction(name, lang))
        if state.turns and state.turns[-1].end == len(state.messages):
            before = state.turns[-1]
            if handoff_target(state.messages[before.start : before.end]) == name:
                view = filtered(view, self._speakers[before.speaker], name)
        member = with_open_handoffs(self._speakers[name], self._handoffs(state))
        yield from turn.run(member, view, {**kwargs, "lang": lang}, decisions)

    def _handoffs(self, state: TeamState) -> HandoffBounds:
        return HandoffBounds(state, self.max_handoffs, self.max_ping_pong)

    def _introduction(self, name: str, lang: str) -> str:
        told = []
        if self._introduce:
            background = prompt(self._prompts, "background", lang).format(background=self.background)
            text = prompt(self._prompts, "member", lang).format(
                name=name,
                others=", ".join(other for other in self.agent_names if other != name),
                background=background if self.background else "",
            )
            told.append(text)
        left = budget_left() if self._show_budget else ""
        if left:
            told.append(prompt(self._prompts, "budget", lang).format(left=left))
        return "\n\n".join(told)

    def _after_turn(
        self, turn: TurnRun, state: TeamState, condition: Termination | None, progress: Progress
    ) -> Stop | None:
        """Takes the turn into the conversation; says why the talk is over, if it is."""
        self._out_of_budget()  # a cancelled turn is not taken in
        speaker, said = state.speaking or "", turn.said
        state.end_turn(said)
        stop = turn.stop
        if not said:
            stop = stop or Stop(f"{speaker} said nothing")
        elif is_pending(said[-1]) or (said[-1].extra or {}).get("end") == "paused":
            stop = stop or Stop(f"{speaker} is waited for", "paused")
        else:
            called = mentions_in("\n".join(text_of(m) for m in said if m.function_call is None), self.agent_names)
            state.queue += [name for name in called if name not in state.queue and name != speaker]
        handed = self._hand_over(speaker, turn.handed_to, state)
        found = self._check(state, len(said), condition, turn.handed_to)
        stop = stop or found or handed
        if stop is None:
            stop = progress.note(speaker, said, turn.handed_to)
            if stop is not None:
                self._close(state, stop, progress)
        if stop is None and state.run_turns >= state.rule("limits")["max_round"]:
            stop = Stop(f"Maximum number of rounds {state.run_turns} reached", "limit:rounds")
        if stop is None:
            state.keep()
        return stop

    def _close(self, state: TeamState, stop: Stop, progress: Progress) -> None:
        """Says the best answer so far and why the talk is closed, since what was said last is no answer."""
        best = progress.best(state.messages[state.run_start :])
        text = prompt(self._prompts, "closed", state.lang or "en").format(best=best, reason=stop.reason)
        state.messages.append(Message(ASSISTANT, text.strip(), name=self.name or "host"))
        state.owners.append(None)

    def _hand_over(self, speaker: str, target: str | None, state: TeamState) -> Stop | None:
        """Notes whom the turn handed over to; says why the talk is over when that is nobody here, or too often."""
        if target is None:
            return None
        if target not in self._speakers:
            return Stop(f"{speaker} handed over to {target}, who is no member", "handoff")
        bounds = self._handoffs(state)
        if not bounds.may(speaker, target):
            return Stop(f"{speaker} handed over to {target} once too often", "limit:handoffs")
        bounds.note(speaker, target)
        run = current_run()
        if run is not None and not hasattr(self._speakers[speaker], "handoff_map"):
            # The tool loop tells of its own handoffs.
            run.emit(HandoffMade, source=speaker, target=target)
        return None
