"""One member's turn: their view in, their reply out, saved as it grows."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.termination import News, Stop, Termination
from qwen_agentkit.agents.loop.turn import Checkpoint
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.limits import Usage
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message


def used() -> Usage:
    """What the run under way has used so far, its sub-agents included."""
    run = current_run()
    return run.usage if run is not None else Usage()


class TurnRun:
    """A turn of a member.

    Args:
        state: The team's state.
        condition: The team's termination, which may break the turn off.
        save: Whether the turn is saved in the state after each of its model replies and tool results, so that it
            can go on in the middle. A member with a `_run` of its own begins its turn anew.

    Attributes:
        said: The reply so far; after the last yield the whole turn.
        stop: Why the turn was broken off by a condition, None when it was not.
    """

    def __init__(self, state: TeamState, condition: Termination | None = None, save: bool = False) -> None:
        self._state = state
        self._condition = condition
        self._save = save
        self.said: list[Message] = []
        self.stop: Stop | None = None

    @property
    def handed_to(self) -> str | None:
        """To whom the member handed the conversation over, None when it did not."""
        return handoff_target(self.said)

    @property
    def paused(self) -> bool:
        """The member waits for a decision about a tool call."""
        return bool(self.said) and (self.said[-1].extra or {}).get("end") == "paused"

    def run(
        self, agent: Agent, view: list[Message], kwargs: dict[str, Any], decisions: Any = None
    ) -> Iterator[list[Message]]:
        """Runs the member, or goes on with its saved turn.

        Args:
            agent: The member.
            view: The conversation as the member sees it.
            kwargs: Arguments of the team's run for the member.
            decisions: About tool calls for which a saved turn waits.

        Yields:
            The whole reply so far.

        Raises:
            Exception: What the member raised, with a note saying whose turn it was.
        """
        token = CancelToken()
        timer = self._timer(token)
        steps = self._start(agent, view, {**kwargs, "cancel": token}, decisions)
        try:
            for self.said in steps:
                yield self.said
                self._watch(token)
        except Exception as error:
            error.add_note(f"It was the turn of {agent.name!r} in a team.")
            raise
        finally:
            if timer is not None:
                timer.cancel()
            steps.close()
            # Kept should the turn be broken off here; the end of the turn clears it.
            self._state.partial = self.said
        if self.stop is None and self._condition is not None and token.cancelled:
            self.stop = self._condition.within(News(usage=used()))

    def _start(
        self, agent: Agent, view: list[Message], kwargs: dict[str, Any], decisions: Any
    ) -> Generator[list[Message], None, None]:
        if self._save and isinstance(agent, FnCallAgent):
            kwargs["checkpoint"] = Checkpoint(self._keep)
            if self._state.turn is not None:
                kwargs.pop("lang", None)
                return cast("Generator[list[Message]]", agent.resume(self._state.turn, decisions, **kwargs))
        return cast("Generator[list[Message]]", agent.run(view, **kwargs))

    def _keep(self, turn: dict[str, Any]) -> None:
        self._state.turn = turn
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


def handoff_target(said: Sequence[Message]) -> str | None:
    """To whom a reply hands over, None when it does not."""
    handoff = (said[-1].extra or {}).get("handoff") if said else None
    return handoff.get("target") if isinstance(handoff, dict) else handoff
