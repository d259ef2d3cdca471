"""Who speaks next: selections that need no model. Those that ask one are in `model_selection.py`.

A selection is an object that holds only its settings; what it must remember between turns is in
`Situation.memory`, which is part of the team's state.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.log import logger
from qwen_agentkit.schema import USER, Message


@dataclass(frozen=True)
class Choice:
    """A decision.

    Args:
        speaker: Name of the member who speaks next; None ends the talk.
        reason: Why, for people.
    """

    speaker: str | None
    reason: str


@dataclass
class Situation:
    """What a selection decides on.

    Args:
        messages: The conversation so far.
        owners: The member who said each message, None for one from outside.
        members: All members.
        candidates: Names of those who may speak now, in the order of the members.
        last_speaker: Who spoke last in this conversation, None when nobody has.
        spoken: Turns of this run so far.
        fresh: The conversation's last word came from outside the team.
        lang: `en` or `zh`.
        memory: A dict of the selection's own, kept in the team's state; JSON only. Its `seed` is a number for chance.
        keeps_state: The run has a state that outlives it.
        handed_to: To whom the last turn handed over, None when it did not.
        has_termination: The team has a termination condition.
    """

    messages: list[Message]
    owners: list[str | None]
    members: Sequence[Agent]
    candidates: list[str]
    last_speaker: str | None = None
    spoken: int = 0
    fresh: bool = False
    lang: str = "en"
    memory: dict[str, Any] = field(default_factory=dict)
    keeps_state: bool = False
    handed_to: str | None = None
    has_termination: bool = False

    @property
    def names(self) -> list[str]:
        return [member.name or "" for member in self.members]

    def after(self, name: str | None) -> str | None:
        """The next candidate in the order of the members after `name`; from the first without one."""
        names = self.names
        start = names.index(name) + 1 if name in names else 0
        order = names[start:] + names[:start]
        return next((other for other in order if other in self.candidates), None)


class SpeakerSelection(ABC):
    """Chooses who speaks next."""

    @abstractmethod
    def choose(self, situation: Situation) -> Choice:
        """The next speaker: one of `situation.candidates`, or None to end the talk.

        Raises:
            ValueError: A function of the program named somebody who cannot speak.
        """


class RoundRobin(SpeakerSelection):
    """In the order of the members, again and again.

    A new message from outside starts with the first member, as in Qwen-Agent; with a state that outlives the run
    the round goes on where it was.
    """

    def choose(self, situation: Situation) -> Choice:
        restart = situation.fresh and not situation.keeps_state
        return Choice(situation.after(None if restart else situation.last_speaker), "next in turn")


class RoundTable(SpeakerSelection):
    """Each member speaks once, then the human comments; without a human in the team the talk ends there."""

    def choose(self, situation: Situation) -> Choice:
        from qwen_agentkit.agents.user_agent import UserAgent

        spoken: set[str] = set()
        humans = [member.name for member in situation.members if isinstance(member, UserAgent)]
        for owner in reversed(situation.owners):
            if owner is None or owner in humans:
                break
            spoken.add(owner)
        for name in situation.candidates:
            if name not in humans and name not in spoken:
                return Choice(name, "has not spoken in this round")
        human = next((name for name in situation.candidates if name in humans), None)
        commented = bool(situation.messages) and situation.owners[-1] in humans
        if human is None or commented:
            return Choice(None, "everybody has spoken")
        return Choice(human, "everybody has spoken; the human comments")


class RandomSpeaker(SpeakerSelection):
    """Anybody who may speak, by chance.

    Args:
        seed: Makes the choices the same in each run; None is the run's `seed`, else one that the team draws.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def choose(self, situation: Situation) -> Choice:
        memory = situation.memory
        memory["draws"] = memory.get("draws", 0) + 1
        # A generator a draw: a resumed run goes on exactly as an uninterrupted one.
        draw = random.Random(f"{memory['seed'] if self.seed is None else self.seed}/{memory['draws']}")
        return Choice(draw.choice(situation.candidates), "by chance")


class ByFunction(SpeakerSelection):
    """A function of the program decides.

    Args:
        function: Gets the messages; returns a name, or None to leave it to `otherwise`.
        otherwise: Used then; None is round robin.
    """

    def __init__(
        self, function: Callable[[list[Message]], str | None], otherwise: SpeakerSelection | None = None
    ) -> None:
        self.function = function
        self.otherwise = otherwise or RoundRobin()

    def choose(self, situation: Situation) -> Choice:
        name = self.function(situation.messages)
        if name is None:
            return self.otherwise.choose(situation)
        if name not in situation.candidates:
            raise ValueError(
                f"The selection function named {name!r}, who cannot speak now; candidates: "
                f"{', '.join(situation.candidates)}"
            )
        return Choice(name, "by function")


class AmongCandidates(SpeakerSelection):
    """A function of the program says who may speak; another selection decides among them.

    Args:
        function: Gets the messages; returns names, at least one.
        selection: Decides; None is round robin. It is not asked when there is one name.
    """

    def __init__(
        self, function: Callable[[list[Message]], Sequence[str]], selection: SpeakerSelection | None = None
    ) -> None:
        self.function = function
        self.selection = selection or RoundRobin()

    def choose(self, situation: Situation) -> Choice:
        names = self.function(situation.messages)
        if isinstance(names, str) or not names:
            raise ValueError(f"The candidate function returns a list of at least one name, not {names!r}")
        unknown = [name for name in names if name not in situation.names]
        if unknown:
            raise ValueError(f"The candidate function named {unknown[0]!r}; members are: {', '.join(situation.names)}")
        allowed = [name for name in situation.candidates if name in names]
        if not allowed:
            raise ValueError(
                f"None of the function's candidates ({', '.join(names)}) may speak now; those who may: "
                f"{', '.join(situation.candidates)}"
            )
        if len(allowed) == 1:
            return Choice(allowed[0], "the only candidate")
        situation.candidates = allowed
        return self.selection.choose(situation)


class Manual(SpeakerSelection):
    """A person decides.

    Args:
        ask: Gets a line of text and returns a name; None is `input`.
        attempts: Times a name that is not known is asked for again; then it is round robin.
    """

    def __init__(self, ask: Callable[[str], str] | None = None, attempts: int = 3) -> None:
        self.ask = ask
        self.attempts = attempts

    def choose(self, situation: Situation) -> Choice:
        from qwen_agentkit.agents.group.names import same_name

        question = {
            "en": "Who speaks next? ({names}): ",
            "zh": "接下来由谁发言？（{names}）：",
        }["zh" if situation.lang == "zh" else "en"].format(names=", ".join(situation.candidates))
        for _ in range(self.attempts):
            given = (self.ask or input)(question)
            name = same_name(given, situation.candidates)
            if name is not None:
                return Choice(name, "chosen by hand")
            logger.warning("%r cannot speak now; candidates: %s", given, ", ".join(situation.candidates))
        return Choice(situation.after(situation.last_speaker), f"no usable name after {self.attempts} questions")


class ByHandoff(SpeakerSelection):
    """The one to whom the last speaker handed over (a swarm); the first member starts.

    A human to whom it was handed over gives it back to who did so.

    Args:
        otherwise: What happens when the last speaker did not hand over: `same` (they speak again), `stop`, or a
            selection. None is `same` for a team with a termination condition and `stop` for one without.
    """

    def __init__(self, otherwise: str | SpeakerSelection | None = None) -> None:
        if otherwise not in (None, "same", "stop") and not isinstance(otherwise, SpeakerSelection):
            raise ValueError(f"otherwise is 'same', 'stop', a selection or None, not {otherwise!r}")
        self.otherwise = otherwise

    def choose(self, situation: Situation) -> Choice:
        memory = situation.memory
        if situation.handed_to is not None:
            memory["returns"] = {**memory.get("returns", {}), situation.handed_to: situation.last_speaker}
            memory["at"] = situation.handed_to
            return Choice(situation.handed_to, f"handed over by {situation.last_speaker}")
        if self._human_spoke(situation):
            back = memory.get("returns", {}).get(situation.last_speaker)
            if back in situation.candidates:
                memory["at"] = back
                return Choice(back, f"{situation.last_speaker} answered who had handed over")
        if situation.spoken == 0:
            # A new request goes to whoever holds the conversation.
            at = memory.get("at") or self._latest_target(situation)
            if at in situation.candidates:
                return Choice(at, "holds the conversation")
            return Choice(situation.after(None), "the first member starts")
        otherwise = self.otherwise or ("same" if situation.has_termination else "stop")
        if isinstance(otherwise, SpeakerSelection):
            return otherwise.choose(situation)
        if otherwise == "same" and situation.last_speaker in situation.candidates:
            return Choice(situation.last_speaker, "did not hand over")
        return Choice(None, "answered without handing over")

    @staticmethod
    def _latest_target(situation: Situation) -> str | None:
        for message in reversed(situation.messages):
            handoff = (message.extra or {}).get("handoff")
            if isinstance(handoff, dict):
                return handoff.get("target")
        return None

    @staticmethod
    def _human_spoke(situation: Situation) -> bool:
        return bool(situation.messages) and situation.messages[-1].role == USER and situation.owners[-1] is not None
