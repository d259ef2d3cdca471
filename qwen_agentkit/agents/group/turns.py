"""One member's turn: their view in, their reply out, saved as it grows."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.state import TeamState, TurnState
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


class Watch:
    """Breaks off what members are doing when the team's condition says so, a blocked read too.

    Args:
        condition: The team's termination.

    Attributes:
        token: Give it to the members' runs.
        stop: Why they were broken off, None when they were not.
    """

    def __init__(self, condition: Termination | None) -> None:
        self._condition = condition
        self._timer: threading.Timer | None = None
        self.token = CancelToken()
        self.stop: Stop | None = None

    def __enter__(self) -> Watch:
        left = self._condition.seconds_left() if self._condition is not None else None
        if left is not None:
            self._timer = threading.Timer(left, self.token.cancel, args=("limit:seconds",))
            self._timer.daemon = True
            self._timer.start()
        return self

    def look(self) -> None:
        """Asks the condition; to be called as the members go on, and when they have ended."""
        if self._condition is None or self.stop is not None:
            return
        self.stop = self._condition.within(News(usage=used()))
        if self.stop is not None:
            self.token.cancel(self.stop.end)

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.token.cancelled:
            self.look()


class TurnRun:
    """A turn of a member.

    Args:
        state: The team's state.
        condition: The team's termination, which may break the turn off.
        save: Whether the turn is saved in the state after each of its model replies and tool results, so that it
            can go on in the middle. A member with a `_run` of its own begins its turn anew.

    Attributes:
        said: The reply so far; after the last yield the whole turn.
    """

    def __init__(self, state: TeamState, condition: Termination | None = None, save: bool = False) -> None:
        self._state = state
        self._watch = Watch(condition)
        self._save = save
        self.said: list[Message] = []

    @property
    def stop(self) -> Stop | None:
        """Why the turn was broken off by the condition, None when it was not."""
        return self._watch.stop

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
        steps = self._start(agent, view, {**kwargs, "cancel": self._watch.token}, decisions)
        try:
            with self._watch:
                for self.said in steps:
                    yield self.said
                    self._watch.look()
        except Exception as error:
            error.add_note(f"It was the turn of {agent.name!r} in a team.")
            raise
        finally:
            steps.close()
            # Kept should the turn be broken off here; the end of the turn clears it.
            self._state.partial = self.said

    def _start(
        self, agent: Agent, view: list[Message], kwargs: dict[str, Any], decisions: Any
    ) -> Generator[list[Message], None, None]:
        if self._save and isinstance(agent, FnCallAgent):
            kwargs["checkpoint"] = Checkpoint(self._keep)
            if self._state.turn is not None:
                kwargs.pop("lang", None)
                return cast("Generator[list[Message]]", agent.resume(self._state.turn, decisions, **kwargs))
        if self._save and getattr(agent, "takes_named_messages", False):
            inner = TurnState(self._state)
            if self._state.turn is not None:
                inner.restore(self._state.turn)
                if not inner.open:
                    return _as_said(inner.response)  # saved at the very end of the turn
                view = []
            kwargs = {**kwargs, "state": inner, "decisions": decisions}
        return cast("Generator[list[Message]]", agent.run(view, **kwargs))

    def _keep(self, turn: dict[str, Any]) -> None:
        self._state.turn = turn
        self._state.keep()


def _as_said(response: list[Message]) -> Generator[list[Message], None, None]:
    yield response


def handoff_target(said: Sequence[Message]) -> str | None:
    """To whom a reply hands over, None when it does not."""
    handoff = (said[-1].extra or {}).get("handoff") if said else None
    return handoff.get("target") if isinstance(handoff, dict) else handoff
