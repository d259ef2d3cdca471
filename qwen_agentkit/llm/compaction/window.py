"""The newest rounds stay, the oldest go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qwen_agentkit.llm.compaction.policy import Budget, rounds_of, rounds_to_drop
from qwen_agentkit.schema import Message


@dataclass(frozen=True)
class Window:
    """Leaves out the oldest rounds whole. System messages and the last round always stay.

    Args:
        max_messages: The most messages to keep beside the system's; None for no such bound.
        max_tokens: The most tokens to keep, whatever the budget; None for the budget alone.
    """

    max_messages: int | None = None
    max_tokens: int | None = None
    name: str = "window"

    def __post_init__(self) -> None:
        for field, value in (("max_messages", self.max_messages), ("max_tokens", self.max_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"Window.{field} is a whole number above 0 or None, not {value!r}")

    def due(self, messages: Sequence[Message]) -> bool:
        """The history has more messages or tokens than the window."""
        head, rounds = rounds_of(messages)
        return self._too_many(rounds) > 0 or self._over(head, rounds, 0) > 0

    def compact(self, messages: list[Message], budget: Budget) -> list[Message]:
        head, rounds = rounds_of(messages)
        number = rounds_to_drop(rounds, max(budget.to_drop(messages), self._over(head, rounds, budget.tools)))
        while number < len(rounds) - 1 and self._too_many(rounds[number:]) > 0:
            number += 1
        if number == 0:
            return messages
        return head + [message for one in rounds[number:] for message in one]

    def _too_many(self, rounds: Sequence[Sequence[Message]]) -> int:
        return 0 if self.max_messages is None else sum(map(len, rounds)) - self.max_messages

    def _over(self, head: Sequence[Message], rounds: Sequence[Sequence[Message]], tools: int) -> int:
        if self.max_tokens is None:
            return 0
        budget = Budget(self.max_tokens, self.max_tokens, tools, forced=True)
        return budget.to_drop([*head, *(message for one in rounds for message in one)])
