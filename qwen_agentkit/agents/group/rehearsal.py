"""Rehearsing a team without any model: scripted speakers, and choices that come out the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.selection import Choice, Situation, SpeakerSelection
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.team import Team
from qwen_agentkit.schema import ASSISTANT, USER, Message

Line = str | Message | Callable[[list[Message]], "str | Message"]


class ScriptedSpeaker(Agent):
    """Says given lines, one a turn.

    Which one it is at is read from the conversation, so it can serve several talks at once, and goes on rightly
    in a talk that was loaded.

    Args:
        name: Who it is.
        lines: Texts, messages, or functions of the messages it sees.
        description: What it is for.
        repeat: Whether the lines begin again when they are over.
    """

    def __init__(self, name: str, lines: Sequence[Line], description: str | None = None, repeat: bool = False) -> None:
        if isinstance(lines, str):
            raise ValueError(f"The lines of {name!r} are a list; put the one line into a list")
        super().__init__(name=name, description=description)
        self.lines = list(lines)
        self.repeat = repeat

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        turn = sum(message.role == ASSISTANT and (message.name in (None, self.name)) for message in messages)
        if self.repeat and self.lines:
            turn %= len(self.lines)
        if turn >= len(self.lines):
            raise ValueError(f"The rehearsal has {len(self.lines)} lines for {self.name!r}, who speaks once more")
        line = self.lines[turn]
        if callable(line):
            line = line(messages)
        yield [line if isinstance(line, Message) else Message(ASSISTANT, line)]


class ScriptedChoices(SpeakerSelection):
    """Chooses the given names, one a turn of a run; the talk ends when they are over.

    Args:
        names: Who speaks, in this order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def choose(self, situation: Situation) -> Choice:
        if situation.spoken >= len(self.names):
            return Choice(None, "the scripted choices are over")
        return Choice(self.names[situation.spoken], "as scripted")


def hands_over(target: str, text: str = "") -> Message:
    """A line with which a scripted speaker hands the conversation over."""
    return Message(ASSISTANT, text, extra={"handoff": {"target": target, "message": text}, "end": "handoff"})


def rehearse(
    team: Team,
    task: str | Sequence[Message | dict],
    lines: Mapping[str, Sequence[Line]],
    *,
    choices: Sequence[str] | None = None,
    seed: int = 0,
    state: TeamState | None = None,
    **kwargs: Any,
) -> TeamState:
    """Runs a team whose members say given lines; the same lines and seed give the same talk each time.

    Args:
        team: A group chat, graph or orchestrator.
        task: The task as text, or messages.
        lines: What each member says, by name; a human too. A member that is not in it speaks as always.
        choices: Who speaks, turn by turn, in place of a group chat's selection: for teams whose host is a model.
        seed: For choices by chance.
        state: A state to go on with.
        **kwargs: For the team's run.

    Returns:
        The state after the run: its `messages`, `turns` (with the reasons of each choice) and `stop_reason`.

    Raises:
        ValueError: Lines for somebody who is no member, fewer lines than turns, or choices for a team that has no
            selection.
    """
    descriptions = {agent.name: agent.description for agent in team.agents}
    cast = {name: ScriptedSpeaker(name, said, descriptions.get(name)) for name, said in lines.items()}
    kept = state if state is not None else TeamState()
    messages = [Message(USER, task)] if isinstance(task, str) else task
    stage = team.with_speakers(cast)
    if choices is not None:
        if not hasattr(stage, "_selection"):
            raise ValueError(f"A {type(team).__name__} chooses nobody; give no choices")
        stage._selection = ScriptedChoices(choices)
    stage.run_nonstream(messages, state=kept, seed=seed, **kwargs)
    return kept
