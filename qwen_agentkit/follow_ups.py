"""Texts sent to a run that is under way: the model gets them with the next tool result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

_HEADS = {
    "en": "While you were working, the user added the following. Take it into account and say that you have seen it:",
    "zh": "在你工作期间，用户补充了以下内容。请予以考虑，并说明你已看到：",
}

PENDING, DELIVERED, NOT_DELIVERED = "pending", "delivered", "not_delivered"


def checked_text(text: str) -> str:
    """The text of a follow-up.

    Raises:
        ValueError: It is blank.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"A follow-up is text that says something, not {text!r}")
    return text


@dataclass
class Ticket:
    """What became of one follow-up.

    Args:
        text: The text.
        status: `pending`, `delivered` (it went to the model), or `not_delivered` (the run ended first: send it as
            the next turn).
    """

    text: str
    status: str = PENDING
    _decided: threading.Event = field(default_factory=threading.Event, repr=False)
    _mail: FollowUps | None = field(default=None, repr=False, compare=False)

    def wait(self, seconds: float | None = None) -> str:
        """Waits until it is known whether the text reached the model; returns the status."""
        self._decided.wait(seconds)
        return self.status

    def withdraw(self) -> None:
        """Takes the text back, unless it was delivered."""
        if self._mail is not None:
            self._mail._withdraw(self)

    def _decide(self, status: str) -> None:
        self.status = status
        self._decided.set()


class FollowUps:
    """The way into a run that is under way: `agent.run(messages, follow_ups=mail)`, then `mail.send("text")`.

    One object serves one run.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Ticket] = []
        self._closed = False
        # Texts that come another way, as from another process.
        self._posted: Callable[[], list[str]] = list

    def also_from(self, posted: Callable[[], list[str]]) -> None:
        """Takes texts from elsewhere too.

        Args:
            posted: Gives the texts that are new since it was last asked.
        """
        self._posted = posted

    def _withdraw(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                ticket._decide(NOT_DELIVERED)

    def send(self, text: str) -> Ticket:
        """Leaves a text for the run.

        Raises:
            ValueError: The text is blank.
        """
        ticket = Ticket(checked_text(text), _mail=self)
        with self._lock:
            if self._closed:
                ticket._decide(NOT_DELIVERED)
            else:
                self._waiting.append(ticket)
        return ticket

    def take(self, lang: str) -> str:
        """The waiting texts, numbered, for the end of a tool result; "" when there are none."""
        posted = self._posted()
        with self._lock:
            tickets, self._waiting = self._waiting, []
        for ticket in tickets:
            ticket._decide(DELIVERED)
        texts = [*(ticket.text for ticket in tickets), *posted]
        if not texts:
            return ""
        lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
        return "\n".join([_HEADS["zh" if lang == "zh" else "en"], *lines])

    def close(self) -> None:
        """The run has ended: what still waits was not delivered."""
        with self._lock:
            self._closed = True
            tickets, self._waiting = self._waiting, []
        for ticket in tickets:
            ticket._decide(NOT_DELIVERED)

    def __deepcopy__(self, memo: dict[int, object]) -> FollowUps:
        return self
