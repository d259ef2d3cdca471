"""`RunBoard`: the runs of a server; how many go on at once, which wait, and which can still be asked for."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from qwen_agentkit.log import logger
from qwen_agentkit.server.failures import RequestFailed
from qwen_agentkit.server.options import ServerOptions
from qwen_agentkit.server.pausing import PAUSED
from qwen_agentkit.server.run import ENDED, QUEUED, Order, ServerRun
from qwen_agentkit.server.workers import Workers

SHUTDOWN = "the server is shutting down"


class RunBoard:
    """Takes runs, gives each a thread when there is room, and keeps them for a while after their end.

    Args:
        options: Bounds and times.
        ended: Called with each run that has ended.
    """

    def __init__(self, options: ServerOptions, ended: Callable[[ServerRun], object] = lambda run: None) -> None:
        self._options = options
        self._on_end = ended
        self._lock = threading.Lock()
        self._runs: dict[str, ServerRun] = {}
        # Runs that want a thread, with the decisions of those that go on.
        self._waiting: deque[tuple[ServerRun, Any]] = deque()
        self._running: Counter[str] = Counter()
        self._workers = Workers()
        self.closing = False

    @property
    def running(self) -> int:
        """Runs that have a thread."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Runs that wait for one."""
        return len(self._waiting)

    def submit(self, order: Order) -> ServerRun:
        """Takes a run.

        Raises:
            RequestFailed: 429 when as many wait as may, 503 when the server is shutting down.
        """
        run = ServerRun(order, self._options.stalled_seconds, self._ended)
        with self._lock:
            if self.closing:
                raise RequestFailed(503, "The server is shutting down", "shutting_down", headers={"Retry-After": "10"})
            if not self._has_room(order.user_id) and len(self._waiting) >= self._options.max_waiting:
                raise RequestFailed(
                    429,
                    f"The server has {self.running} runs under way and {len(self._waiting)} waiting; try again later",
                    "server_busy",
                    headers={"Retry-After": "2"},
                )
            self._runs[run.id] = run
            self._waiting.append((run, None))
        self._start_some()
        return run

    def go_on(self, run: ServerRun, decisions: Any) -> None:
        """Goes on with a paused run.

        Raises:
            RequestFailed: It is not paused.
        """
        with self._lock:
            if run.status != PAUSED or any(run is other for other, _ in self._waiting):
                raise RequestFailed(409, f"The run waits for no decision; it is {run.status}", "run_not_paused")
            self._waiting.append((run, decisions))
        self._start_some()

    def find(self, run_id: str, user_id: str) -> ServerRun | None:
        """A user's run; None when there is none, or it is another's."""
        run = self._runs.get(run_id)
        return run if run is not None and run.order.user_id == user_id else None

    def of_user(self, user_id: str) -> list[ServerRun]:
        """A user's runs, the newest first."""
        with self._lock:
            runs = [run for run in self._runs.values() if run.order.user_id == user_id]
        return sorted(runs, key=lambda run: run.created_at, reverse=True)

    def of_session(self, user_id: str, session_id: str) -> list[ServerRun]:
        """The runs of a session that have not ended."""
        return [
            run
            for run in self.of_user(user_id)
            if run.order.session is not None and run.order.session.session_id == session_id and run.status not in ENDED
        ]

    def unfinished(self) -> list[ServerRun]:
        """The runs that have not ended."""
        with self._lock:
            return [run for run in self._runs.values() if run.status not in ENDED]

    def cancel(self, run: ServerRun, reason: str = "cancelled") -> None:
        """Cancels a run, wherever it is."""
        with self._lock:
            queued = next((entry for entry in self._waiting if entry[0] is run), None)
            if queued is not None:
                self._waiting.remove(queued)
        run.cancel.cancel(reason)
        if run.status in (QUEUED, PAUSED):
            # No thread works for it that would see the token.
            self._workers.do(run.end_cancelled)

    def sweep(self) -> None:
        """Forgets what ended long ago, and gives up paused runs that were decided about by nobody."""
        now = time.time()
        with self._lock:
            runs = list(self._runs.values())
        ended = sorted((run for run in runs if run.ended_at is not None), key=lambda run: run.ended_at or 0.0)
        surplus = max(0, len(ended) - self._options.max_kept_runs)
        for number, run in enumerate(ended):
            if number < surplus or now - (run.ended_at or now) > self._options.run_kept_seconds:
                self.forget(run)
        for run in runs:
            if run.status == PAUSED and now - (run.paused_at or now) > self._options.approval_seconds:
                self.cancel(run, "no decision came")

    def forget(self, run: ServerRun) -> None:
        """Lets go of a run."""
        with self._lock:
            self._runs.pop(run.id, None)

    def knows(self, run_id: str) -> bool:
        """Whether a run is kept."""
        return run_id in self._runs

    def close(self) -> None:
        """Cancels every run; no new one is taken."""
        self.closing = True
        for run in self.unfinished():
            self.cancel(run, SHUTDOWN)

    @property
    def idle(self) -> bool:
        """Whether every run has ended or waits for a decision."""
        with self._lock:
            return not self._waiting and not self._running

    def _has_room(self, user_id: str) -> bool:
        own = self._options.max_running_per_user
        return self.running < self._options.max_running and (own is None or self._running[user_id] < own)

    def _start_some(self) -> None:
        """Gives threads to the runs that wait longest, as far as there is room for their users."""
        chosen: list[tuple[ServerRun, Any]] = []
        with self._lock:
            kept: deque[tuple[ServerRun, Any]] = deque()
            while self._waiting and self.running < self._options.max_running:
                run, decisions = self._waiting.popleft()
                if self._has_room(run.order.user_id):
                    self._running[run.order.user_id] += 1
                    chosen.append((run, decisions))
                else:
                    kept.append((run, decisions))
            self._waiting.extendleft(reversed(kept))
        for run, decisions in chosen:
            self._workers.do(functools.partial(self._work, run, decisions))

    def _work(self, run: ServerRun, decisions: Any) -> None:
        try:
            run.work(decisions)
        finally:
            with self._lock:
                self._running[run.order.user_id] -= 1
                if not self._running[run.order.user_id]:
                    del self._running[run.order.user_id]
            self._start_some()

    def _ended(self, run: ServerRun) -> None:
        try:
            self._on_end(run)
        except Exception:
            logger.exception("Counting a run failed")
