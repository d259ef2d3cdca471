"""`Orchestrator`: a lead that takes stock, plans, hands out the work step by step, and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.ledger import Ledger, UnreadableLedger, read_ledger
from qwen_agentkit.agents.group.orchestrator_prompts import PROMPTS
from qwen_agentkit.agents.group.prompts import Prompts, check_prompts, prompt, roles
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.team import Team, check_bound
from qwen_agentkit.agents.group.termination import ANSWERED, Stop, Termination
from qwen_agentkit.agents.group.turns import TurnRun
from qwen_agentkit.agents.group.views import is_reply, lines_of, text_of, view_for
from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ASSISTANT, SYSTEM, USER, Message

# What an orchestrator does next; kept in the state.
_PLAN, _LEDGER, _SPEAK, _ANSWER, _DONE = "plan", "ledger", "speak", "answer", "done"


class Orchestrator(Team):
    """Works on a task with a team, after the pattern of Magentic-One.

    Facts are gathered and a plan is made; then, step by step, a ledger of five questions says whether the task is
    done, whether the work goes round in circles or gets on, who goes on, and with what. Steps that bring nothing
    count as stalls; too many of them make a new plan, with an empty conversation. The last message is the answer.

    Args:
        agents: The members.
        llm: The lead's model.
        max_rounds: Decisions of one run, each with the member's step that it leads to (a stall may lead to none);
            then the answer is made of what there is.
        max_stalls: Stalls after which the plan is made anew. Each step that brings something takes one back.
        max_replans: New plans in one run; then the answer is made of what there is. None is no bound.
        ledger_attempts: Times the model is asked for one ledger; what is wrong is told to it. Then the step counts
            as a stall.
        prompts: Texts in place of the defaults in `agents.group.orchestrator_prompts`.
        **kwargs: As for `Team`.

    Raises:
        ValueError: No model, members that cannot form a team, a bound below 1.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        llm: Any = None,
        *,
        max_rounds: int = 20,
        max_stalls: int = 3,
        max_replans: int | None = None,
        ledger_attempts: int = 3,
        prompts: Prompts | None = None,
        name: str | None = "orchestrator",
        **kwargs: Any,
    ) -> None:
        if llm is None:
            raise ValueError("An orchestrator needs a model: give llm={'model': ...}")
        super().__init__(agents, llm=llm, name=name, **kwargs)
        check_prompts(prompts, PROMPTS)
        for bound, value in (
            ("max_rounds", max_rounds),
            ("max_stalls", max_stalls),
            ("max_replans", max_replans),
            ("ledger_attempts", ledger_attempts),
        ):
            check_bound(bound, value)
        self.max_rounds = max_rounds
        self.max_stalls = max_stalls
        self.max_replans = max_replans
        self.ledger_attempts = ledger_attempts
        self._prompts = dict(prompts or {})

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        state: TeamState | None = None,
        decisions: Any = None,
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        """Works on the task; `state` and `decisions` as for `GroupChat`."""
        state = self._own_state(state, kwargs)
        kept = state if state is not None else TeamState()
        with kept.in_use(self._identity):
            condition, stop = self._begin(kept, messages, lang, kwargs.get("seed"))
            memory = kept.rule("orchestrator")
            while stop is None:
                if memory["next"] == _PLAN:
                    self._plan(kept)
                    yield kept.response
                elif memory["next"] == _LEDGER:
                    self._decide(kept)
                    yield kept.response
                elif memory["next"] == _SPEAK:
                    paused = yield from self._step(kept, condition, state is not None, decisions, kwargs)
                    if paused:
                        return
                    decisions = None
                    stop = self._after(kept, condition)
                elif memory["next"] == _ANSWER:
                    yield from self._answer(kept)
                else:
                    stop = Stop(memory["why"], memory["end"])
                if stop is None:
                    kept.keep()
            yield self._end(kept, stop)

    # ---- what is remembered -------------------------------------------------------------------------------

    def _start(self, state: TeamState, messages: list[Message], resumed: bool) -> None:
        if resumed:
            return
        memory = state.rule("orchestrator")
        human = memory.pop("human", None)
        if human is not None and messages:
            # They were waited for: the same task goes on.
            state.owners[-1] = human
            memory["next"] = _LEDGER
            return
        task = next((text_of(message) for message in reversed(state.messages) if message.role == USER), "")
        memory.clear()
        memory.update(
            next=_PLAN, task=task, facts="", plan="", stalls=0, rounds=0, replans=0, begun=len(state.messages)
        )
        memory.update(speaker=None, why="", end=ANSWERED)

    def _say(self, state: TeamState, text: str) -> None:
        """A message of the lead's own; the members hear it."""
        state.messages.append(Message(ASSISTANT, text, name=self.name))
        state.owners.append(None)

    def _since_the_plan(self, state: TeamState) -> list[Message]:
        return state.messages[state.rule("orchestrator")["begun"] :]

    # ---- the lead's own work ------------------------------------------------------------------------------

    def _text(self, key: str, state: TeamState, **fields: Any) -> str:
        memory = state.rule("orchestrator")
        known = {
            "task": memory["task"],
            "facts": memory["facts"],
            "plan": memory["plan"],
            "roles": roles(self.agents),
            "names": ", ".join(self.agent_names),
            "talk": lines_of(self._since_the_plan(state)),
        }
        return prompt(self._prompts, key, state.lang or "en", PROMPTS).format(**{**known, **fields})

    def _ask(self, state: TeamState, messages: Sequence[Message]) -> str:
        *_, reply = self._call_llm(list(messages), extra_generate_cfg={"lang": state.lang or "en"})
        return "\n".join(filter(None, (text_of(message) for message in reply if is_reply(message))))

    def _plan(self, state: TeamState) -> None:
        """Facts and plan, the first ones or new ones; then the team begins with them and nothing else."""
        memory = state.rule("orchestrator")
        again = "_again" if memory["plan"] else ""
        facts = self._ask(state, [Message(USER, self._text(f"facts{again}", state))])
        plan = self._ask(state, [Message(USER, self._text(f"plan{again}", state, facts=facts))])
        memory.update(facts=facts, plan=plan, begun=len(state.messages), stalls=0, next=_LEDGER)
        self._say(state, self._text("brief", state))

    def _decide(self, state: TeamState) -> None:
        """Fills in the ledger and draws the conclusion."""
        memory = state.rule("orchestrator")
        if memory["rounds"] >= self.max_rounds:
            self._conclude(memory, f"Maximum number of rounds {self.max_rounds} reached", "limit:rounds")
            return
        # Also a decision that no member's turn follows: a model that writes no usable ledger must come to an end.
        memory["rounds"] += 1
        ledger, problem = self._ledger(state)
        if ledger is not None and ledger.satisfied:
            self._conclude(memory, ledger.reasons.get("is_request_satisfied") or "the request is satisfied", ANSWERED)
            return
        if ledger is None or ledger.in_loop or not ledger.progress:
            memory["stalls"] += 1
        else:
            memory["stalls"] = max(0, memory["stalls"] - 1)
        if memory["stalls"] >= self.max_stalls:
            memory["replans"] += 1
            if self.max_replans is not None and memory["replans"] > self.max_replans:
                self._conclude(memory, f"{self.max_replans} new plans did not help", "limit:replans")
                return
            self._warn(f"{memory['stalls']} stalls: a new plan is made ({problem or 'no progress'})")
            memory["next"] = _PLAN
            return
        if ledger is None:
            memory["next"] = _LEDGER
            return
        self._tell(ledger.speaker, self.agent_names, ledger.reasons.get("next_speaker", ""))
        memory.update(speaker=ledger.speaker, next=_SPEAK)
        self._say(state, f"@{ledger.speaker} {ledger.instruction}")

    def _ledger(self, state: TeamState) -> tuple[Ledger | None, str]:
        """The ledger, or None and what was wrong with the last attempt."""
        asked = [Message(USER, self._text("ledger", state))]
        problem = ""
        for _ in range(self.ledger_attempts):
            reply = self._ask(state, asked)
            try:
                return read_ledger(reply, self.agent_names), ""
            except UnreadableLedger as error:
                problem = str(error)
            again = self._text("ledger_again", state, problems=problem)
            asked = [*asked, Message(ASSISTANT, reply or "..."), Message(USER, again)]
        self._warn(f"No usable ledger in {self.ledger_attempts} attempts: {problem}")
        return None, problem

    @staticmethod
    def _conclude(memory: dict[str, Any], why: str, end: str) -> None:
        memory.update(next=_ANSWER, why=why, end=end)

    @staticmethod
    def _warn(text: str) -> None:
        run = current_run()
        if run is not None:
            run.warn(text)

    def _answer(self, state: TeamState) -> Iterator[list[Message]]:
        """The answer, streamed."""
        memory = state.rule("orchestrator")
        why = "" if memory["end"] == ANSWERED else self._text("stopped", state)
        question = self._text("answer", state, why=why)
        reply: list[Message] = []
        for reply in self._call_llm([Message(USER, question)], extra_generate_cfg={"lang": state.lang or "en"}):
            yield state.response + reply
        for message in reply:
            state.messages.append(message.model_copy(update={"name": message.name or self.name}))
            state.owners.append(None)
        memory["next"] = _DONE

    # ---- a member's step ----------------------------------------------------------------------------------

    def _step(
        self,
        state: TeamState,
        condition: Termination | None,
        save: bool,
        decisions: Any,
        kwargs: Mapping[str, Any],
    ) -> Any:
        """The chosen member's turn. Yields the response so far; returns whether the member is paused."""
        speaker = state.rule("orchestrator")["speaker"]
        if state.speaking is None:
            state.mark()
        state.begin_turn(speaker, "chosen by the ledger")
        turn = TurnRun(state, condition, save=save)
        given = {**kwargs, "lang": state.lang or "en"}
        for said in turn.run(self._speakers[speaker], self._view(speaker, state), given, decisions):
            yield state.response + said
        if turn.paused and state.turn is not None:
            state.keep()
            return True
        self._out_of_budget()  # a cancelled turn is not taken in
        state.end_turn(turn.said)
        memory = state.rule("orchestrator")
        memory["next"] = _LEDGER
        memory["broken_off"] = [turn.stop.reason, turn.stop.end] if turn.stop is not None else None
        return False

    def _view(self, name: str, state: TeamState, intro: str = "") -> list[Message]:
        """What a member sees: the plan in force and the work under it, not that under an older plan."""
        begun = state.rule("orchestrator")["begun"]
        kept = [position for position, m in enumerate(state.messages) if position >= begun or m.role == SYSTEM]
        return view_for(
            name, [state.messages[position] for position in kept], [state.owners[position] for position in kept], intro
        )

    def _after(self, state: TeamState, condition: Termination | None) -> Stop | None:
        memory = state.rule("orchestrator")
        turn = state.turns[-1]
        broken_off = memory.pop("broken_off", None)
        stop = Stop(*broken_off) if broken_off else None
        if turn.end > turn.start and is_pending(state.messages[-1]):
            memory["human"] = turn.speaker
            stop = stop or Stop(f"{turn.speaker} is waited for", "paused")
        return stop or self._check(state, turn.end - turn.start, condition)
