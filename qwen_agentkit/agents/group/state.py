"""`TeamState`: everything that changes while a team talks, in one object that can be saved, loaded and forked.

A team itself is never changed by running. Without a state each run starts from the messages it is given; with one
the team remembers::

    state = TeamState(path="debate.json")       # saved after every turn and every tool result
    team.run(messages, state=state)
    team.run([], state=TeamState.load("debate.json"))   # goes on, also in another process
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from qwen_agentkit.schema import SYSTEM, Message
from qwen_agentkit.utils.files import write_atomically

VERSION = 1


class TeamRunning(RuntimeError):
    """The state belongs to a team that is running now."""


@dataclass
class Turn:
    """One turn of one speaker.

    Args:
        speaker: The member.
        start, end: Their messages are `messages[start:end]` of the state.
        reason: Why they were chosen.
        run_start: Where the messages of the run's response begin.
        before: What selection, termination and counters remembered before the speaker was chosen.
        together: The speaker spoke at the same time as the one before; a fork keeps both or none.
    """

    speaker: str
    start: int
    end: int
    reason: str = ""
    run_start: int = 0
    before: dict[str, Any] = field(default_factory=dict)
    together: bool = False


@dataclass
class TeamState:
    """A team's conversation and what its rules remember.

    Args:
        path: A file that is written after every turn and every tool result; None writes none.

    Attributes:
        team: Kind of the team and names of its members; a state is for teams that have the same.
        messages: The whole conversation.
        owners: The member who said each message, None for one from outside.
        turns: Whose turns they were.
        run_start: Where the messages of the last run's response begin.
        run_turns: Turns made in that run.
        lang: Language of the prompts.
        queue: Members that were called with `@` and have not spoken since.
        rules: What selection, termination and counters remember, by rule.
        speaking: The member whose turn was broken off, None between turns.
        before: What the rules remembered before that member was chosen.
        turn: The member's own saved turn, for those whose loop can go on in the middle; None where the turn is
            begun anew.
        partial: What that member had said when the turn was broken off. It joins the conversation when a new
            message comes instead of the rest of the turn.
        open: Whether a run is under way or was broken off; running the team goes on with it.
        stop_reason: Why the last run ended.
    """

    # Whether the state is there again in the team's next run; see `TurnState`.
    outlives_run: ClassVar[bool] = True

    path: str | os.PathLike[str] | None = None
    team: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    run_start: int = 0
    run_turns: int = 0
    lang: str | None = None
    queue: list[str] = field(default_factory=list)
    rules: dict[str, Any] = field(default_factory=dict)
    speaking: str | None = None
    speaking_reason: str = ""
    before: dict[str, Any] = field(default_factory=dict)
    turn: dict[str, Any] | None = None
    partial: list[Message] = field(default_factory=list)
    open: bool = False
    stop_reason: str | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    # ---- use by one run at a time

    @property
    def running(self) -> bool:
        """Whether a team is running on this state now."""
        return self._lock.locked()

    @contextmanager
    def in_use(self, team: dict[str, Any]) -> Iterator[None]:
        """Keeps the state for one run.

        Args:
            team: Kind and members of the team that runs.

        Raises:
            TeamRunning: Another run uses the state.
            ValueError: The state is of a team with other members.
        """
        if not self._lock.acquire(blocking=False):
            raise TeamRunning("This state belongs to a team that is running; wait for its end or give each run its own")
        try:
            if self.team and self.team != team:
                raise ValueError(f"The state was made by {_described(self.team)}; this is {_described(team)}")
            self.team = team
            yield
        finally:
            self._lock.release()

    # ---- saving

    def rule(self, name: str) -> dict[str, Any]:
        """What one rule remembers, a dict it may change; JSON only."""
        return self.rules.setdefault(name, {})

    def keep(self) -> None:
        """Writes the state to its `path`, if it has one."""
        if self.path is not None:
            self.save(self.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state as JSON, whole or not at all."""
        write_atomically(path, json.dumps(self.to_json(), ensure_ascii=False))

    def to_json(self) -> dict[str, Any]:
        """The state as a JSON-able dict."""
        return {
            "version": VERSION,
            "team": self.team,
            "messages": [message.model_dump() for message in self.messages],
            "owners": list(self.owners),
            "turns": [copy.deepcopy(vars(turn)) for turn in self.turns],
            "run_start": self.run_start,
            "run_turns": self.run_turns,
            "lang": self.lang,
            "queue": list(self.queue),
            "rules": copy.deepcopy(self.rules),
            "speaking": self.speaking,
            "speaking_reason": self.speaking_reason,
            "before": copy.deepcopy(self.before),
            "turn": copy.deepcopy(self.turn),
            "partial": [message.model_dump() for message in self.partial],
            "open": self.open,
            "stop_reason": self.stop_reason,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], keep: bool = True) -> TeamState:
        """Reads a saved state; with `keep` it goes on saving to that file.

        Raises:
            ValueError: The file holds no state, or one of a newer version.
        """
        with open(path, encoding="utf-8") as stream:
            try:
                data = json.load(stream)
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)} holds no saved team state: {error}") from None
        state = cls.from_json(data)
        state.path = path if keep else None
        return state

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TeamState:
        """The state that `to_json` wrote.

        Raises:
            ValueError: The data is no state, or of a newer version.
        """
        state = cls()
        state.restore(data)
        return state

    def restore(self, data: dict[str, Any]) -> None:
        """Puts this state back to what `to_json` wrote, for a team that does not run.

        Raises:
            TeamRunning: A team runs on this state.
            ValueError: The data is no state, or of a newer version.
        """
        if self.running:
            raise TeamRunning("A running team's state cannot be loaded over; wait for the end of the run")
        if not isinstance(data, dict) or not isinstance(data.get("version"), int) or "messages" not in data:
            raise ValueError("This is no saved team state: a dict with 'version' and 'messages' is wanted")
        if data["version"] > VERSION:
            raise ValueError(f"The state has version {data['version']}; this release reads up to {VERSION}")
        data = copy.deepcopy(data)
        self.messages = [Message.model_validate(message) for message in data["messages"]]
        self.partial = [Message.model_validate(message) for message in data.get("partial", [])]
        self.turns = [Turn(**turn) for turn in data.get("turns", [])]
        self.owners = data.get("owners", [None] * len(self.messages))
        if len(self.owners) != len(self.messages):
            raise ValueError(f"The state has {len(self.messages)} messages but {len(self.owners)} owners")
        for name in (
            "team", "run_start", "run_turns", "lang", "queue", "rules", "speaking", "speaking_reason", "before", "turn",
            "open", "stop_reason",
        ):  # fmt: skip
            if name in data:
                setattr(self, name, data[name])

    # ---- time travel

    def fork(self, at: int | None = None) -> TeamState:
        """A state of its own, as this one was after turn number `at`.

        Args:
            at: Turns to keep, 0 to `len(turns)`, over all runs; negative counts from the end. None keeps all,
                a broken-off turn too.

        Raises:
            ValueError: There were not so many turns.
        """
        forked = TeamState.from_json(self.to_json())
        if at is None:
            return forked
        kept = at + len(self.turns) if at < 0 else at
        if not 0 <= kept <= len(self.turns):
            raise ValueError(f"fork(at={at}): the state has {len(self.turns)} turns")
        if kept == len(self.turns) and not self.open:
            return forked
        forked.speaking, forked.speaking_reason, forked.turn, forked.stop_reason = None, "", None, None
        forked.partial = []
        while kept < len(self.turns) and self.turns[kept].together:
            kept -= 1
        if kept == len(self.turns):
            return forked
        # What came from outside before the first turn that is dropped stays.
        dropped = forked.turns[kept]
        forked.messages, forked.owners = forked.messages[: dropped.start], forked.owners[: dropped.start]
        forked.turns = forked.turns[:kept]
        forked.rules = dropped.before
        forked.queue = forked.rules.pop("queue", [])
        forked.run_start = dropped.run_start
        forked.run_turns = sum(turn.run_start == dropped.run_start for turn in forked.turns)
        forked.open = True
        return forked

    def is_same_request(self, messages: Sequence[Message]) -> bool:
        """Whether these messages only say again what began the broken-off run; none say nothing new."""
        given = [message for message in messages if message.role != SYSTEM]
        begun = [message for message in self.messages[: self.run_start] if message.role != SYSTEM]
        begun = begun[len(begun) - len(given) :]
        return [(m.role, m.content) for m in given] == [(m.role, m.content) for m in begun]

    # ---- the response of the run under way

    @property
    def response(self) -> list[Message]:
        """What the members have said in this run, turns that ended."""
        return self.messages[self.run_start :]

    def begin(self, messages: Sequence[Message], owners: Sequence[str | None], lang: str) -> None:
        """Starts a run: the messages from outside join the conversation, after what was left of a broken-off turn."""
        if self.speaking is not None and self.partial:
            from qwen_agentkit.llm.history import repair_history

            self.end_turn(repair_history(self.partial))
        self.messages.extend(messages)
        self.owners.extend(owners)
        self.run_start = len(self.messages)
        self.run_turns = 0
        self.lang = lang
        self.open, self.stop_reason = True, None
        self.speaking, self.turn, self.partial = None, None, []

    def mark(self) -> None:
        """Notes what the rules remember before a speaker is chosen, for `fork`."""
        self.before = {**copy.deepcopy(self.rules), "queue": list(self.queue)}

    def begin_turn(self, speaker: str, reason: str, keep: bool = True) -> None:
        """A member is about to speak, or to go on where the turn was broken off.

        Args:
            speaker: The member.
            reason: Why they were chosen.
            keep: Whether the choice is saved now, so that it need not be made again.
        """
        if self.speaking is None:
            self.speaking, self.speaking_reason, self.turn = speaker, reason, None
            if keep:
                self.keep()

    def end_turn(self, said: Sequence[Message], together: bool = False) -> None:
        """The speaking member has finished; `said` is the whole turn. `together`: it spoke beside the one before."""
        start = len(self.messages)
        self.messages.extend(said)
        self.owners.extend([self.speaking] * len(said))
        self.turns.append(
            Turn(
                self.speaking or "",
                start,
                len(self.messages),
                self.speaking_reason,
                self.run_start,
                self.before,
                together,
            )
        )
        self.run_turns += 1
        self.speaking, self.speaking_reason, self.before, self.turn = None, "", {}, None
        self.partial = []

    def end(self, reason: str) -> None:
        """The run is over."""
        self.open, self.stop_reason = False, reason
        self.keep()

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return TeamState.from_json, (self.to_json(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> TeamState:
        # A state is an identity, like a cancel token: it reaches agents among their arguments, which programs copy.
        return self


class TurnState(TeamState):
    """The state of a team in one turn as another team's member: it is saved as a part of that team's.

    Args:
        outer: The other team's state.
    """

    # Each turn the member is given the whole conversation again.
    outlives_run = False

    def __init__(self, outer: TeamState) -> None:
        super().__init__()
        self._outer = outer

    def keep(self) -> None:
        """Saves this state in the other one."""
        self._outer.turn = self.to_json()
        self._outer.keep()


def _described(team: dict[str, Any]) -> str:
    return f"a {team.get('kind', 'team')} of {', '.join(team.get('members', []))}"
