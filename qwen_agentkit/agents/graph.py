"""`Graph`: agents as nodes that give way to each other along edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.branches import Branch, run_branches
from qwen_agentkit.agents.group.edges import edges_from, shape_of
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.team import Team, check_bound
from qwen_agentkit.agents.group.termination import Stop, Termination
from qwen_agentkit.agents.group.turns import TurnRun, Watch
from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.schema import Message, messages_from

COMPLETE = "the graph is complete"


class Graph(Team):
    """Runs nodes until none is left to run.

    Nodes that are ready at the same time run at the same time; what they said joins the conversation in the
    order of the nodes, so one graph and the same replies give the same conversation each time. Each node sees
    the whole conversation.

    Args:
        agents: The nodes.
        edges: `Edge`s, or tuples (source, target) and (source, target, condition), with agents or names.
        start: Names of the nodes that run first; None is every node that no other one leads to.
        joins: For a node with several ways in: `all` (default) waits for every node before it that may still come
            to it, `any` runs as soon as one has.
        termination: Ends the run; a graph with a cycle needs one, or `max_steps`.
        max_steps: Node runs in one run of the graph.
        **kwargs: As for `Team`.

    Raises:
        ValueError: The graph cannot be right; the text says where.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        edges: Iterable[Any],
        *,
        start: str | Sequence[str] | None = None,
        joins: Mapping[str, str] | None = None,
        termination: Termination | None = None,
        max_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(agents, termination=termination, **kwargs)
        check_bound("max_steps", max_steps)
        self.max_steps = max_steps
        names = self.agent_names
        self.shape = shape_of(
            names,
            edges_from(edges, names),
            [start] if isinstance(start, str) else start,
            dict(joins or {}),
            bounded=max_steps is not None or self.termination is not None,
        )

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        state: TeamState | None = None,
        decisions: Any = None,
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        """Runs the graph; `state` and `decisions` as for `GroupChat`."""
        state = self._own_state(state, kwargs)
        kept = state if state is not None else TeamState()
        with kept.in_use(self._identity):
            condition, stop = self._begin(kept, messages, lang, kwargs.get("seed"))
            while stop is None:
                ready = self._ready(kept)
                if not ready:
                    stop = Stop(COMPLETE)
                    break
                if len(ready) == 1:
                    paused = yield from self._run_one(ready[0], kept, condition, state is not None, decisions, kwargs)
                    if paused:
                        return
                    decisions = None
                else:
                    yield from self._run_together(ready, kept, condition, kwargs)
                stop = self._after(ready, kept, condition)
            yield self._end(kept, stop)

    # ---- which nodes run ----------------------------------------------------------------------------------

    def _start(self, state: TeamState, messages: list[Message], resumed: bool) -> None:
        memory = state.rule("graph")
        if resumed:
            return
        waiting = memory.get("waiting") or {}
        # A human who was waited for has answered: the graph goes on after them.
        human = memory.pop("human", None)
        if human is not None and messages:
            state.owners[-1] = human
            memory.update(steps=0, waiting=waiting, finished={}, ready=[])
            self._give_way(human, state.messages[-1:], memory)
            return
        memory.update(steps=0, waiting={name: [] for name in self.shape.starts}, finished={}, ready=[])

    def _ready(self, state: TeamState) -> list[str]:
        """The nodes that run now: those broken off, else those that wait for nobody."""
        memory = state.rule("graph")
        if memory["ready"]:
            return list(memory["ready"])
        waiting: dict[str, list[str]] = memory["waiting"]
        ready = [name for name in self.shape.names if name in waiting and not self._waits(name, waiting)]
        # Two that wait for each other: the first goes.
        ready = ready or [name for name in self.shape.names if name in waiting][:1]
        state.mark()
        for name in ready:
            del waiting[name]
        memory["ready"], memory["finished"] = ready, {}
        for name in ready:
            self._tell(name, ready, "ready" if len(ready) == 1 else "ready, together with others")
        return ready

    def _waits(self, name: str, waiting: Mapping[str, Sequence[str]]) -> bool:
        """Whether a node that was given way to waits for another way in that may still be taken."""
        if self.shape.joins[name] == "any" or not waiting[name]:
            return False
        may_run = self.shape.reachable((other for other in waiting if other != name), without=name)
        return any(edge.source in may_run and edge.source not in waiting[name] for edge in self.shape.into(name))

    def _give_way(self, name: str, reply: Sequence[Message], memory: dict[str, Any]) -> None:
        for edge in self.shape.taken(name, reply):
            sources = memory["waiting"].setdefault(edge.target, [])
            if name not in sources:
                sources.append(name)

    # ---- running them -------------------------------------------------------------------------------------

    def _run_one(
        self,
        name: str,
        state: TeamState,
        condition: Termination | None,
        save: bool,
        decisions: Any,
        kwargs: Mapping[str, Any],
    ) -> Any:
        """One node's turn. Yields the response so far; returns whether the node is paused."""
        state.begin_turn(name, "ready")
        turn = TurnRun(state, condition, save=save)
        given = {**kwargs, "lang": state.lang or "en"}
        for said in turn.run(self._speakers[name], self._view(name, state), given, decisions):
            yield state.response + said
        if turn.paused and state.turn is not None:
            state.keep()
            return True
        self._out_of_budget()  # a cancelled turn is not taken in
        state.rule("graph")["finished"][name] = None
        _note_stop(state, turn.stop)
        state.end_turn(turn.said)
        return False

    def _run_together(
        self, names: Sequence[str], state: TeamState, condition: Termination | None, kwargs: Mapping[str, Any]
    ) -> Iterator[list[Message]]:
        """Several nodes at the same time, each with the conversation as it is now."""
        finished: dict[str, Any] = state.rule("graph")["finished"]
        given = {**kwargs, "lang": state.lang or "en"}
        branches = {
            name: Branch(self._speakers[name], self._view(name, state), given) for name in names if name not in finished
        }
        before = {name: messages_from(said) for name, said in finished.items()}
        with Watch(condition) as watch:
            for changed in run_branches(list(branches.values()), cancel=watch.token):
                if changed.done and changed.error is None and not watch.token.cancelled:
                    name = next(one for one, branch in branches.items() if branch is changed)
                    finished[name] = [message.model_dump() for message in changed.said]
                    state.keep()
                yield state.response + self._in_order(names, before, branches)
                watch.look()
        self._out_of_budget()
        _note_stop(state, watch.stop)
        for name, branch in branches.items():
            if branch.error is not None:
                branch.error.add_note(f"It was the turn of {name!r} in a team.")
                raise branch.error
        for name in names:
            state.begin_turn(name, "ready, together with others", keep=False)
            state.end_turn(before[name] if name in before else branches[name].said, together=name != names[0])

    @staticmethod
    def _in_order(
        names: Sequence[str], before: Mapping[str, list[Message]], branches: Mapping[str, Branch]
    ) -> list[Message]:
        """What is shown of several nodes: one after the other, so that what has been shown only grows."""
        shown: list[Message] = []
        for name in names:
            shown += before[name] if name in before else branches[name].said
            if name in branches and not branches[name].done:
                break
        return shown

    def _after(self, ready: Sequence[str], state: TeamState, condition: Termination | None) -> Stop | None:
        """Gives way along the edges; says why the run is over, if it is."""
        memory = state.rule("graph")
        memory["ready"], memory["finished"] = [], {}
        broken_off = memory.pop("broken_off", None)
        stop = Stop(*broken_off) if broken_off else None
        turns = state.turns[len(state.turns) - len(ready) :]
        for turn in turns:
            said = state.messages[turn.start : turn.end]
            memory["steps"] += 1
            if said and is_pending(said[-1]):
                memory["human"] = turn.speaker
                stop = Stop(f"{turn.speaker} is waited for", "paused")
                continue
            self._give_way(turn.speaker, said, memory)
        for turn in turns:
            found = self._check_turn(state, turn.start, turn.end, condition)
            stop = stop or found
        stop = stop or self._out_of_budget()
        if stop is None and self.max_steps is not None and memory["steps"] >= self.max_steps and memory["waiting"]:
            stop = Stop(f"Maximum number of steps {self.max_steps} reached", "limit:steps")
        if stop is None:
            state.keep()
        return stop

    def _check_turn(self, state: TeamState, start: int, end: int, condition: Termination | None) -> Stop | None:
        if condition is None or condition.fired:
            return None
        news = self._news(state, 0)
        news.messages, news.speakers = state.messages[start:end], state.owners[start:end]
        stop = condition.check(news)
        state.rules["termination"] = condition.save_state()
        return stop


def _note_stop(state: TeamState, stop: Stop | None) -> None:
    """Notes in the state that the condition broke nodes off."""
    state.rule("graph")["broken_off"] = [stop.reason, stop.end] if stop is not None else None
