"""How a run is begun, and gone on with after it paused for a decision about tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.team import Team
from qwen_agentkit.agents.loop.turn import Checkpoint
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.run_driver import CANCELLED, ERROR
from qwen_agentkit.schema import Message
from qwen_agentkit.session.session import Session
from qwen_agentkit.session_run import closed

PAUSED = "paused"


class Pausable:
    """One run of an agent, in as many parts as it pauses.

    Args:
        agent: The agent.
        messages: What it is asked.
        session: The session that the run belongs to, if any.
        kwargs: Arguments of every part of the run.
    """

    def __init__(self, agent: Agent, messages: Sequence[Message], session: Session | None, kwargs: dict[str, Any]):
        self._agent = agent
        self._messages = list(messages)
        self._session = session
        self._kwargs = kwargs
        self._checkpoint = Checkpoint() if isinstance(agent, FnCallAgent) else None
        self._team_state = TeamState() if isinstance(agent, Team) else None

    @property
    def takes_follow_ups(self) -> bool:
        """Whether texts can be sent to the run while it is under way."""
        return isinstance(self._agent, FnCallAgent)

    @property
    def can_go_on(self) -> bool:
        """Whether a pause keeps enough to go on from."""
        return self._team_state is not None or (self._checkpoint is not None and self._checkpoint.state is not None)

    def start(self, mail: FollowUps) -> Iterator[list[Any]]:
        """Begins the run."""
        kwargs = dict(self._kwargs)
        if self._session is not None:
            kwargs["session"] = self._session
        return self._agent.run(self._messages, **kwargs, **self._own(mail))

    def go_on(self, decisions: Any, before: list[Any], mail: FollowUps) -> Iterator[list[Any]]:
        """Goes on after a pause.

        Args:
            decisions: About the calls that wait, as for `FnCallAgent.resume`.
            before: The response up to the pause.
            mail: The mailbox of this part.
        """
        if self._session is None:
            return self._continued(decisions, mail)
        return self._continued_in_session(self._session, decisions, before, mail)

    def _continued(self, decisions: Any, mail: FollowUps) -> Iterator[list[Any]]:
        kwargs = {**self._kwargs, **self._own(mail)}
        if isinstance(self._agent, FnCallAgent) and self._checkpoint is not None and self._checkpoint.state is not None:
            kwargs.pop("lang", None)
            return self._agent.resume(self._checkpoint.state, decisions, **kwargs)
        return self._agent.run(self._messages, decisions=decisions, **kwargs)

    def _continued_in_session(
        self, session: Session, decisions: Any, before: list[Any], mail: FollowUps
    ) -> Iterator[list[Any]]:
        cancel = self._kwargs["cancel"]
        response, end = before, CANCELLED
        with session.hold(None, lambda: cancel.cancelled), session.store.mailbox(session.key, mail):
            try:
                for response in self._continued(decisions, mail):
                    yield response
                end = ""
            except GeneratorExit:
                raise
            except BaseException:
                end = ERROR
                raise
            finally:
                # The history has the response up to the pause, its calls open; this answers them.
                session.append(closed(response, end or None)[len(before) :])

    def give_up(self, before: list[Any]) -> None:
        """No decision will come: in the session's history the open calls get an answer that says so."""
        if self._session is None or not before:
            return
        last = before[-1]
        extra = {key: value for key, value in (last.extra or {}).items() if key != "end"}
        whole = closed([*before[:-1], last.model_copy(update={"extra": extra})], None)
        self._session.append(whole[len(before) :])

    def _own(self, mail: FollowUps) -> dict[str, Any]:
        """Arguments that only this kind of agent takes: others would hand them on to their tools."""
        if self._checkpoint is not None:
            return {"checkpoint": self._checkpoint, "follow_ups": mail}
        return {} if self._team_state is None else {"state": self._team_state}
