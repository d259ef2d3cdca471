"""One member's turn: their view in, their reply out, kept in the state as it grows."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.termination import News, Stop, Termination
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.limits import Usage
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import FUNCTION, Message


def used() -> Usage:
    """What the run under way has used so far, its sub-agents included."""
    run = current_run()
    return run.usage if run is not None else Usage()


class TurnRun:
    """A turn of a member.

    Attributes:
        said: The reply so far; after the last yield the whole turn.
        stop: Why the turn was broken off by a condition, None when it was not.
        handed_to: To whom the member handed the conversation over, None when it did not.
    """

    def __init__(self, state: TeamState, condition: Termination | None = None) -> None:
        self._state = state
        self._condition = condition
        self._saved_results = 0
        self.said: list[Message] = list(state.unfinished)
        self.stop: Stop | None = None

    @property
    def handed_to(self) -> str | None:
        return handoff_target(self.said)

    def run(self, agent: Agent, view: list[Message], kwargs: dict[str, Any]) -> Iterator[list[Message]]:
        """Runs the member; yields the whole reply so far.

        Args:
            agent: The member.
            view: The conversation as the member sees it, what is unfinished included.
            kwargs: Arguments of the team's run for the member.

        Raises:
            Exception: What the member raised, with a note saying whose turn it was.
        """
        before = list(self._state.unfinished)
        token = CancelToken()
        timer = self._timer(token)
        steps = cast("Generator[list[Message]]", agent.run(view, cancel=token, **kwargs))
        try:
            for reply in steps:
                self.said = before + reply
                self._keep()
                yield self.said
                self._watch(token)
        except Exception as error:
            error.add_note(f"It was the turn of {agent.name!r} in a team.")
            raise
        finally:
            if timer is not None:
                timer.cancel()
            steps.close()
        if self.stop is None and self._condition is not None and token.cancelled:
            self.stop = self._condition.within(News(usage=used()))

    def _keep(self) -> None:
        """Saves the turn whenever another round of tool calls is complete."""
        results = sum(message.role == FUNCTION for message in self.said)
        if results <= self._saved_results:
            return
        self._saved_results = results
        rounds = whole_rounds(self.said)
        if len(rounds) > len(self._state.unfinished):
            self._state.unfinished = rounds
            self._state.keep()

    def _watch(self, token: CancelToken) -> None:
        if self._condition is None or self.stop is not None:
            return
        self.stop = self._condition.within(News(usage=used()))
        if self.stop is not None:
            token.cancel(self.stop.end)

    def _timer(self, token: CancelToken) -> threading.Timer | None:
        """Breaks the turn off when a condition's time is over, a blocked read too."""
        left = self._condition.seconds_left() if self._condition is not None else None
        if left is None:
            return None
        timer = threading.Timer(left, token.cancel, args=("limit:seconds",))
        timer.daemon = True
        timer.start()
        return timer


def whole_rounds(said: Sequence[Message]) -> list[Message]:
    """The longest beginning of a reply in which every tool call is answered, ending in a result."""
    open_calls: set[Any] = set()
    end = 0
    for position, message in enumerate(said):
        function_id = (message.extra or {}).get("function_id")
        if message.function_call is not None:
            open_calls.add(function_id)
        elif message.role == FUNCTION:
            open_calls.discard(function_id)
            if not open_calls:
                end = position + 1
    return list(said[:end])


def handoff_target(said: Sequence[Message]) -> str | None:
    """To whom a reply hands over, None when it does not."""
    handoff = (said[-1].extra or {}).get("handoff") if said else None
    return handoff.get("target") if isinstance(handoff, dict) else handoff
