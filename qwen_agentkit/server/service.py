"""`Service`: what the routes of a server share: its agents, users, sessions, runs, files and counts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.limits import RunLimits
from qwen_agentkit.server.asking import messages_of
from qwen_agentkit.server.board import RunBoard
from qwen_agentkit.server.failures import RequestFailed, not_found
from qwen_agentkit.server.idempotency import IdempotencyKeys
from qwen_agentkit.server.live_sessions import LiveSessions
from qwen_agentkit.server.metrics import Metrics
from qwen_agentkit.server.options import UNNAMED, ServerOptions
from qwen_agentkit.server.pausing import PAUSED
from qwen_agentkit.server.run import ANSWER, ENDED, Order, ServerRun
from qwen_agentkit.server.uploads import Uploads
from qwen_agentkit.server.users import Tokens
from qwen_agentkit.session.session import Session
from qwen_agentkit.session.store import SessionStore

SWEEP_SECONDS = 5.0


class Service:
    """What a server works with.

    Args:
        agents: One agent, or several with names that differ.
        options: Settings.

    Raises:
        ValueError: No agent, or names that do not tell them apart.
    """

    def __init__(self, agents: Agent | Sequence[Agent], options: ServerOptions) -> None:
        self.options = options
        self.agents = agents_by_id([agents] if isinstance(agents, Agent) else agents)
        self.tokens = Tokens(options.tokens)
        self._own_store = not isinstance(options.store, SessionStore)
        store = (
            options.store if isinstance(options.store, SessionStore) else SessionStore(options.store, options.on_busy)
        )
        self.sessions = LiveSessions(store, options.session_idle_seconds)
        self.board = RunBoard(options, lambda run: self.metrics.count_run(run))
        self.uploads = Uploads(options)
        self.keys = IdempotencyKeys()
        self.metrics = Metrics(
            lambda: self.board.running, lambda: self.board.waiting, lambda: float(len(self.sessions))
        )

    def agent_id(self, name: str | None, param: str = "model") -> str:
        """The id of the agent that is meant; the first one's when none is named.

        Raises:
            RequestFailed: 404: there is none of that name.
        """
        if not name:
            return next(iter(self.agents))
        if name not in self.agents:
            raise RequestFailed(
                404, f"There is no agent {name!r}; there are: {', '.join(self.agents)}", "model_not_found", param
            )
        return name

    def begin(
        self,
        user_id: str,
        agent_id: str,
        messages: Sequence[Any],
        session_id: str | None = None,
        *,
        new_session: bool = False,
        style: str = ANSWER,
        background: bool = False,
        limits: Mapping[str, Any] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> ServerRun:
        """Begins a run; may ask the database.

        Args:
            user_id: Whose run it is.
            agent_id: Which agent answers.
            messages: As they came in the request.
            session_id: The session it belongs to; None is a conversation of its own.
            new_session: Makes a session when none is named.
            style: See `Order`.
            background: See `Order`.
            limits: Bounds that the request asks for.
            arguments: Further arguments of `Agent.run`.

        Raises:
            RequestFailed: Something in the request cannot be used, or there is no room.
        """
        if self.board.closing:
            raise RequestFailed(503, "The server is shutting down", "shutting_down", headers={"Retry-After": "10"})

        def find_file(name: str) -> str | None:
            return self.uploads.path(user_id, session_id, name) if session_id else None

        checked = messages_of(messages, find_file, self.options.max_messages)
        bounds = lesser(self.options.limits, limits)
        session: Session | None = None
        if session_id is not None or new_session:
            if session_id is not None:
                self._refuse_while_paused(user_id, session_id)
            session = self.sessions.open(user_id, session_id)
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        order = Order(
            agent_id, self.agents[agent_id], user_id, checked, session, style, background, bounds, arguments=given
        )
        return self.board.submit(order)

    def session(self, user_id: str, session_id: str) -> Session:
        """A user's session.

        Raises:
            RequestFailed: 404.
        """
        session = self.sessions.find(user_id, session_id)
        if session is None:
            raise not_found("session", session_id, "session_id")
        return session

    def delete_session(self, user_id: str, session_id: str) -> None:
        """Erases a session with its files, and cancels what is under way in it."""
        for run in self.board.of_session(user_id, session_id):
            self.board.cancel(run, "the session was deleted")
        session = self.sessions.find(user_id, session_id)
        if session is not None:
            session.delete()
        self.uploads.delete_session(user_id, session_id)
        self.sessions.forget(user_id, session_id)

    def run(self, user_id: str, run_id: str) -> ServerRun:
        """A user's run.

        Raises:
            RequestFailed: 404.
        """
        run = self.board.find(run_id, user_id)
        if run is None:
            raise not_found("run", run_id, "run_id")
        return run

    def left(self, run: ServerRun) -> None:
        """A client has left; called on the event loop. Its run is cancelled, unless it may go on alone.

        A run of `/v1/runs` waits a while for its client to come back with `Last-Event-ID`.
        """
        if run.order.background or run.status in ENDED:
            return
        seconds = 0.0 if run.order.style == ANSWER else self.options.resume_seconds
        asyncio.get_running_loop().call_later(seconds, self._cancel_alone, run)

    def _cancel_alone(self, run: ServerRun) -> None:
        # Paused, it waits for a decision that may come from elsewhere.
        if not run.readers and run.status != PAUSED:
            self.board.cancel(run, "the client left")

    async def keep_house(self) -> None:
        """Forgets what is over, now and then; runs until it is cancelled."""
        while True:
            await asyncio.sleep(min(SWEEP_SECONDS, max(0.05, self.options.session_idle_seconds / 2)))
            self.sweep()

    def sweep(self) -> None:
        """Forgets ended runs, idle sessions, and keys of requests."""
        self.board.sweep()
        in_use = {run.order.session.key for run in self.board.unfinished() if run.order.session is not None}
        self.sessions.sweep(in_use)
        self.keys.sweep(self.board.knows)

    def close(self) -> None:
        """Closes what the server opened itself."""
        if self._own_store:
            self.sessions.store.close()

    def _refuse_while_paused(self, user_id: str, session_id: str) -> None:
        paused = next((run for run in self.board.of_session(user_id, session_id) if run.status == PAUSED), None)
        if paused is not None:
            raise RequestFailed(
                409,
                f"The run {paused.id} of this session waits for a decision: POST /v1/runs/{paused.id}/approval, or "
                f"/cancel",
                "run_paused",
                "session_id",
            )


def agents_by_id(agents: Sequence[Agent]) -> dict[str, Agent]:
    """The agents by the names under which they are served.

    Raises:
        ValueError: There are none, one is no agent, or two share a name.
    """
    if not agents:
        raise ValueError("A server wants at least one agent")
    by_id: dict[str, Agent] = {}
    for agent in agents:
        if not isinstance(agent, Agent):
            raise ValueError(f"A server wants agents, not {type(agent).__name__} {agent!r}")
        name = agent.name or UNNAMED
        if name in by_id:
            raise ValueError(f"Two agents have the name {name!r}; give each a name of its own")
        by_id[name] = agent
    return by_id


def lesser(own: RunLimits | None, asked: Mapping[str, Any] | None) -> RunLimits | None:
    """The bounds of the server, lowered by what a request asks for.

    Raises:
        RequestFailed: 400.
    """
    if not asked:
        return own
    try:
        wanted = RunLimits(**asked)
    except (TypeError, ValueError) as error:
        raise RequestFailed(400, str(error), "invalid_limits", "limits") from None
    if own is None:
        return wanted
    names = ("model_calls", "tool_calls", "tokens", "seconds", "cost")
    lowest: dict[str, Any] = {}
    for name in names:
        values = [value for value in (getattr(own, name), getattr(wanted, name)) if value is not None]
        lowest[name] = min(values) if values else None
    return RunLimits(**lowest)
