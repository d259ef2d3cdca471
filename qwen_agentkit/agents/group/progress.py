"""Whether a talk gets anywhere: turns in a row by one speaker, and turns that bring nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.termination import Stop
from qwen_agentkit.agents.group.views import is_reply, text_of
from qwen_agentkit.schema import ASSISTANT, FUNCTION, Message

# A short reply that begins so declines; a long one that begins so usually goes on to help.
_REFUSAL = re.compile(
    r"\W*(?:(?:i am |i'm )?(?:very |so )?sorry\b.{0,40}?\b)?(?:but )?"
    r"(?:i|we) (?:can(?:not|'t|’t)|could not|am unable|am not able|are unable|won't|don't know|do not know)\b"
    r"|\W*(?:非常|很)?(?:抱歉|对不起|不好意思)?[，,。 ]*(?:但)?我(?:们)?(?:暂时)?"
    r"(?:无法|不能|没办法|没有办法|不知道|帮不了|做不到)",
    re.IGNORECASE,
)
MAX_REFUSAL_CHARACTERS = 160


def is_refusal(text: str) -> bool:
    """Whether a reply only says that its speaker cannot help."""
    text = text.strip()
    return len(text) <= MAX_REFUSAL_CHARACTERS and _REFUSAL.match(text) is not None


class Progress:
    """Counts, in a team's state, what must not go on for ever.

    Args:
        state: The team's state.
        max_stalled_rounds: Turns in a row that bring nothing (empty, refusing, handed on in a circle) before the
            talk is closed; None closes none.
        max_consecutive_same_speaker: Turns in a row of one speaker; None is no bound.
        refuses: Says of a reply's text whether it only declines.
    """

    def __init__(
        self,
        state: TeamState,
        max_stalled_rounds: int | None = None,
        max_consecutive_same_speaker: int | None = None,
        refuses: Callable[[str], bool] = is_refusal,
    ) -> None:
        self._state = state
        self._max_stalled = max_stalled_rounds
        self._max_same = max_consecutive_same_speaker
        self._refuses = refuses

    @property
    def _memory(self) -> dict[str, Any]:
        return self._state.rule("progress")

    def begin(self) -> None:
        """A new run: what was counted for the last request does not count for this one."""
        self._memory.update(stalled=0, passing=[])

    def in_a_row(self, speaker: str | None) -> int:
        """Turns that `speaker` has just had in a row in this run."""
        count = 0
        for turn in reversed(self._state.turns[len(self._state.turns) - self._state.run_turns :]):
            if turn.speaker != speaker:
                break
            count += 1
        return count

    def may_speak(self, speaker: str) -> bool:
        """Whether one more turn of that speaker keeps the bound on turns in a row."""
        return self._max_same is None or self.in_a_row(speaker) < self._max_same

    def too_many(self, speaker: str) -> Stop:
        return Stop(f"{speaker} has spoken {self._max_same} times in a row", "limit:consecutive_speaker")

    def note(self, speaker: str, said: Sequence[Message], handed_to: str | None) -> Stop | None:
        """Takes a turn into account.

        Returns:
            Why the talk is closed, None when it goes on.
        """
        memory = self._memory
        if handed_to is not None:
            # Handing on is work once for each; round in a circle it is none.
            circles = handed_to in memory["passing"]
            memory["passing"] = list(dict.fromkeys([*memory["passing"], speaker]))
            memory["stalled"] += 1 if circles else 0
        elif self._brought_something(said):
            self.begin()
        else:
            memory["stalled"] += 1
        if self._max_stalled is None or memory["stalled"] < self._max_stalled:
            return None
        return Stop(f"{memory['stalled']} rounds in a row brought nothing", "limit:stalled_rounds")

    def best(self, said: Sequence[Message]) -> str:
        """The last reply in words that does not decline; empty when there was none."""
        texts = [text_of(message) for message in said if message.role == ASSISTANT and is_reply(message)]
        return next((text for text in reversed(texts) if not self._refuses(text)), "")

    def _brought_something(self, said: Sequence[Message]) -> bool:
        """A reply in words that does not decline, or a tool's result."""
        if any(message.role == FUNCTION for message in said):
            return True
        texts = [text_of(message) for message in said if is_reply(message)]
        pictures = any(not isinstance(message.content, str) and message.content for message in said)
        return pictures or (bool(texts) and not self._refuses("\n".join(texts)))
