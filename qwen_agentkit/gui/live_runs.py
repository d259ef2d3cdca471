"""`LiveRun`: a run that goes on in a thread of its own while pages watch it, are reloaded, and watch again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.loop.approval import Decision, at_hand
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import QwenAgentKitError
from qwen_agentkit.follow_ups import DELIVERED, FollowUps, Ticket
from qwen_agentkit.gui.approvals import Question, Questions
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.session import Session
from qwen_agentkit.utils.message_text import follow_up_text

# Seconds between two pictures of a growing answer.
_FRAME = 0.07
# A watcher looks in this often even when nothing happens, so that the page's server notices who has left.
_LOOK = 5.0
# Seconds for which a run is kept after its end.
_KEEP = 60.0
# Seconds between two looks at whether a run that waits for its turn was stopped.
_POLL = 0.2
# Seconds for which a run goes on that nobody watches: long enough to load a page again.
LEAVE_SECONDS = 30.0


class LiveRun:
    """An agent's work on one session, from a message to the end of everything that was sent meanwhile.

    Args:
        agent: Who answers.
        session: The conversation.
        messages: The new messages.
        kwargs: Arguments of the agent's run.
        slots: Bounds how many runs work at once; the others wait.
        is_here: Whether the person is still at the page, perhaps looking at something else.
        leave_seconds: How long it goes on when nobody watches and nobody is there; a run that waits for a person
            waits on.

    Attributes:
        base: The conversation up to and with what is being answered.
        response: The answer so far.
        error: Why it failed, one line, None while it did not.
    """

    def __init__(
        self,
        agent: Agent,
        session: Session,
        messages: Sequence[Message],
        kwargs: Mapping[str, Any],
        slots: threading.Semaphore | None = None,
        is_here: Callable[[], bool] = lambda: False,
        leave_seconds: float = LEAVE_SECONDS,
    ) -> None:
        self.agent = agent
        self.session = session
        self.base: list[Message] = [*session.messages(), *messages]
        self.response: list[Message] = []
        self.error: str | None = None
        self.cancel = CancelToken()
        self._kwargs = dict(kwargs)
        self._slots = slots or threading.Semaphore()
        self._is_here = is_here
        self._leave_seconds = leave_seconds
        self._condition = threading.Condition()
        self._version = 0
        self._done = False
        self._ended: float | None = None
        self._watchers = 0
        self._leaving: threading.Timer | None = None
        self._decided = float("-inf")
        self._questions = Questions(self._change)
        self._mail = FollowUps()
        self._queued: list[tuple[Message, Ticket | None]] = []
        self._thread = threading.Thread(target=self._work, args=(list(messages),), name="page-run", daemon=True)
        self._thread.start()

    # ---- what the page does

    @property
    def done(self) -> bool:
        return self._done

    def ended_before(self, seconds: float) -> bool:
        """Whether it has ended, that many seconds ago."""
        return self._ended is not None and time.monotonic() - self._ended > seconds

    @property
    def question(self) -> Question | None:
        """A tool call that waits for a decision."""
        return self._questions.first

    @property
    def queued(self) -> list[Message]:
        """What was sent while the agent was working and has not reached it."""
        with self._condition:
            return [message for message, ticket in self._queued if ticket is None or ticket.status != DELIVERED]

    def send(self, message: Message) -> bool:
        """Takes a further message: into the run where it can, else as the next turn. False when the run is over."""
        with self._condition:
            if self._done:
                return False
            text = follow_up_text(message) if self.session.store.on_busy == "follow_up" else None
            self._queued.append((message, self._mail.send(text) if text is not None else None))
        self._change()
        return True

    def decide(self, call_id: str, decision: Decision) -> bool:
        """Answers for a tool call that waits; False when it waits no more."""
        # Who decides is there: the time for coming back counts from now.
        self._decided = time.monotonic()
        return self._questions.answer(call_id, decision)

    def stop(self) -> None:
        """Ends the run, and forgets what was sent meanwhile."""
        with self._condition:
            self._queued.clear()
        self.cancel.cancel()

    def watch(self) -> Iterator[None]:
        """Steps whenever there is something new to show, and once more at the end; not faster than can be seen."""
        seen = -1
        with self._watched():
            while True:
                with self._condition:
                    if self._version == seen and not self._done:
                        self._condition.wait(_LOOK)
                    seen, done = self._version, self._done
                yield
                if done:
                    return
                time.sleep(_FRAME)

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end; whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        with self._condition:
            self._watchers += 1
            if self._leaving is not None:
                self._leaving.cancel()
                self._leaving = None
        try:
            yield
        finally:
            with self._condition:
                self._watchers -= 1
                if self._watchers == 0:
                    self._wait_for_return()

    def _wait_for_return(self) -> None:
        if not self._done:
            self._leaving = threading.Timer(self._leave_seconds, self._left)
            self._leaving.daemon = True
            self._leaving.start()

    def _left(self) -> None:
        with self._condition:
            if self._watchers or self._done:
                return
            decided_now = time.monotonic() - self._decided < self._leave_seconds
            if self._is_here() or self.question is not None or decided_now:
                self._wait_for_return()
                return
        self.cancel.cancel("nobody is watching")

    # ---- the thread

    def _change(self) -> None:
        with self._condition:
            self._version += 1
            self._condition.notify_all()

    def _work(self, messages: list[Message]) -> None:
        at_hand.set(self._ask)
        try:
            while not self._slots.acquire(timeout=_POLL):
                if self.cancel.cancelled:
                    return
            try:
                while messages:
                    self._turn(messages)
                    messages = self._next_turn()
            finally:
                self._slots.release()
        except Exception as error:
            # Shown to the person at the page; whatever it is, it must not leave the page waiting.
            self.error = (str(error) or type(error).__name__).strip().splitlines()[0]
            # Errors of the package say what is wrong; of others the place is wanted.
            place = None if isinstance(error, QwenAgentKitError) else error
            logger.error("The agent failed at the page: %s", error, exc_info=place)
        finally:
            with self._condition:
                self._done, self._ended = True, time.monotonic()
                if self._leaving is not None:
                    self._leaving.cancel()
            self._change()

    def _turn(self, messages: list[Message]) -> None:
        with self._condition:
            self.base, self.response = [*self.session.messages(), *messages], []
            self._mail = FollowUps()
        answers = False
        kwargs = {**self._kwargs, "cancel": self.cancel, "follow_ups": self._mail}
        for response in self.agent.run(messages, session=self.session, **kwargs):
            answers, self.response = True, response
            self._change()
        if not answers and self.session.store.on_busy == "follow_up":
            self._wait_for_the_other()

    def _ask(self, call: ToolCall) -> Decision:
        """Asks the person about a call, until the run that makes it is stopped or at its limit."""
        run = current_run()
        return self._questions.ask(call, self.cancel if run is None else run.cancel)

    def _wait_for_the_other(self) -> None:
        """What was said went to a run of another process; when that has ended, its answer is shown."""
        try:
            with self.session.hold(None, lambda: self.cancel.cancelled):
                self.base = self.session.messages()
        except TimeoutError:
            logger.info("The wait for the answer of another process was stopped")

    def _next_turn(self) -> list[Message]:
        """What was sent meanwhile and did not reach the run."""
        with self._condition:
            waiting = [message for message, ticket in self._queued if ticket is None or ticket.status != DELIVERED]
            self._queued.clear()
            if self.cancel.cancelled or not waiting:
                # From here on `send` refuses, so that nothing is left behind.
                self._done = True
                return []
            return waiting


class LiveRuns:
    """The runs that are under way, by user and session.

    Args:
        limit: How many work at once; None is no bound.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._slots = threading.Semaphore(limit if limit is not None else 1_000_000)
        self._runs: dict[tuple[str, str], LiveRun] = {}
        self._lock = threading.Lock()

    def find(self, key: tuple[str, str]) -> LiveRun | None:
        """The run of a session, None when there is none under way."""
        run = self.last(key)
        return None if run is None or run.done else run

    def last(self, key: tuple[str, str]) -> LiveRun | None:
        """The run of a session that is under way or ended a moment ago: one that ended before anybody could look."""
        with self._lock:
            return self._runs.get(key)

    def start(
        self,
        agent: Agent,
        session: Session,
        messages: Sequence[Message],
        kwargs: Mapping[str, Any],
        is_here: Callable[[], bool] = lambda: False,
    ) -> LiveRun:
        """Starts a run, or hands the messages to the one that is under way."""
        with self._lock:
            running = self._runs.get(session.key)
            if running is not None and all([running.send(message) for message in messages]):
                return running
            for key in [key for key, run in self._runs.items() if run.ended_before(_KEEP)]:
                del self._runs[key]
            run = self._runs[session.key] = LiveRun(agent, session, messages, kwargs, self._slots, is_here)
            return run

    def stop_all(self) -> None:
        """Ends all runs, for the end of the page's server."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.stop()
