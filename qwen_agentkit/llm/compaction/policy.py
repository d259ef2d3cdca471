"""What a compaction policy is given and gives back, and the rounds that it may leave out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from qwen_agentkit.llm.length import count_input_tokens
from qwen_agentkit.schema import SYSTEM, USER, Message

# Asks a model: messages in, the answer's text out.
AskModel = Callable[[list[Message]], str]
# The conclusion of a tool's result: (name of the tool, the result's text) -> text, or None to have it decided here.
SummarizeResult = Callable[[str, str], str | None]


@dataclass(frozen=True)
class Budget:
    """How long a history may be.

    Args:
        low: Tokens to come down to.
        high: Tokens from which on the history is made shorter.
        tools: Tokens of the tools' schemas, which count too.
        forced: Asked for by hand: come down to `low` however long the history is.
        lang: Language of what is written, `en` or `zh`.
        ask: Asks a model; None where there is none.
        summarize: Gives the conclusion of a tool's result; None where nobody can.
    """

    low: int
    high: int
    tools: int = 0
    forced: bool = False
    lang: str = "en"
    ask: AskModel | None = None
    summarize: SummarizeResult | None = None

    def tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of the history with the tools."""
        return count_input_tokens(messages) + self.tools

    def to_drop(self, messages: Sequence[Message]) -> int:
        """Tokens that have to go; 0 or less when the history is short enough.

        By itself the amount grows in steps of `high - low`, so that the place of the cut stays where it is for many
        turns: what is sent begins with the same text, which the service's prompt cache then knows.
        """
        tokens = self.tokens(messages)
        if self.forced:
            return tokens - self.low
        if tokens <= self.high:
            return 0
        step = max(1, self.high - self.low)
        return math.ceil((tokens - self.high) / step) * step


class Policy(Protocol):
    """One way to make a history shorter."""

    @property
    def name(self) -> str:
        """What it is called in events and logs."""
        ...

    def due(self, messages: Sequence[Message]) -> bool:
        """Whether the history is too long by the policy's own measure, whatever its tokens."""
        ...

    def compact(self, messages: list[Message], budget: Budget) -> list[Message]:
        """A shorter history; the same list when nothing can be left out.

        The messages are valid (see `history`), and so is what is returned. Messages given are not changed.
        """
        ...


def rounds_of(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """The system messages at the front, and the rounds: a user's messages and all up to the next.

    What stands before the first user's message belongs to the first round.
    """
    start = 0
    while start < len(messages) and messages[start].role == SYSTEM:
        start += 1
    rounds: list[list[Message]] = []
    asked = answered = False  # the current round has a user's message; something has followed it
    for message in messages[start:]:
        if not rounds or (message.role == USER and asked and answered):
            rounds.append([])
            asked = answered = False
        rounds[-1].append(message)
        if message.role == USER:
            asked = True
        elif asked:
            answered = True
    return list(messages[:start]), rounds


def rounds_to_drop(rounds: Sequence[Sequence[Message]], tokens: int, keep: int = 1) -> int:
    """How many of the oldest rounds hold that many tokens together; the newest `keep` rounds always stay."""
    number = 0
    while tokens > 0 and number < len(rounds) - keep:
        tokens -= count_input_tokens(rounds[number])
        number += 1
    return number
