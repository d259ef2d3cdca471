"""A run inside a stored session: `agent.run(messages, session=session)`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.follow_ups import DELIVERED, PENDING, FollowUps
from qwen_agentkit.llm.history import repair_history
from qwen_agentkit.log import logger
from qwen_agentkit.run_driver import CANCELLED, ERROR
from qwen_agentkit.schema import ASSISTANT, Message, messages_from
from qwen_agentkit.session.session import Session
from qwen_agentkit.utils.message_text import follow_up_text

# Seconds between two looks at whether the wait was cancelled.
_POLL_SECONDS = 0.1


def run_in_session(
    run: Callable[..., Iterator[list[Any]]],
    new: list[Message],
    session: Session,
    as_dicts: bool,
    kwargs: dict[str, Any],
) -> Iterator[list[Any]]:
    """Runs an agent on a session's history and new messages, and keeps both.

    The session is held from reading to writing, so two runs never interleave in it. What has been said is kept as
    the run goes on: after a crash the next run finds a valid history that says where it stopped.

    Args:
        run: Starts the run on a conversation with the run's arguments.
        new: The new messages.
        session: The session.
        as_dicts: Whether the reader gets dicts.
        kwargs: The run's arguments. A `cancel` among them ends the wait for another run, too; a `follow_ups` is
            the run's mailbox, else it gets one of its own.

    Yields:
        The response so far. Nothing when the store's `on_busy` is `follow_up` and the new messages went to the run
        that is under way.

    Raises:
        TimeoutError: The wait for another run was cancelled.
    """
    store, key = session.store, session.key
    cancel = kwargs.get("cancel")
    cancelled = (lambda: cancel.cancelled) if isinstance(cancel, CancelToken) else lambda: False
    if store.on_busy == "follow_up" and _went_to_the_running_run(session, new, cancelled):
        return
    mail = kwargs["follow_ups"] if isinstance(kwargs.get("follow_ups"), FollowUps) else FollowUps()
    with session.hold(None, cancelled), store.mailbox(key, mail):
        _take_up_broken(session)
        conversation: list[Any] = [*session.messages(), *new]
        if as_dicts:
            conversation = [message.model_dump() for message in conversation]
        run_id = f"run_{uuid.uuid4().hex[:12]}"
        store.begin_run(key, run_id, new)
        saver = _Saver(session, run_id)
        end: str | None = CANCELLED
        try:
            for response in run(conversation, **{**kwargs, "follow_ups": mail}):
                saver.take(response)
                yield response
            end = None
        except GeneratorExit:
            raise
        except BaseException:
            end = ERROR
            raise
        finally:
            saver.end(end)


def _went_to_the_running_run(session: Session, new: list[Message], cancelled: Callable[[], bool]) -> bool:
    """Hands new text to the run that is under way in the session; whether it reached the model there.

    Files and pictures reach no run that is under way: what has some waits for a turn, whole.
    """
    texts = [text for message in new if (text := follow_up_text(message)) is not None]
    ticket = session.follow_up("\n\n".join(texts)) if texts and len(texts) == len(new) else None
    if ticket is None:
        return False
    while ticket.wait(_POLL_SECONDS) == PENDING:
        if cancelled():
            ticket.withdraw()
            break
    return ticket.status == DELIVERED


def _take_up_broken(session: Session) -> None:
    """Puts what a run that never ended had said into the history, with a note that it ended there."""
    broken = session.store.broken_run(session.key)
    if broken is None:
        return
    run_id, said = broken
    logger.warning("The last run in %r did not end; what it had said is kept", session)
    session.store.end_run(session.key, run_id, closed(said, ERROR))


def closed(response: list[Message], end: str | None) -> list[Message]:
    """A response fit to be kept: every call answered, its end noted.

    Args:
        response: What was said.
        end: How it ended, where it does not say so itself; None for a run that ended by itself.
    """
    repaired = repair_history(response)
    if end is None:
        return repaired
    if not repaired:
        return [Message(ASSISTANT, "", extra={"end": end})]
    last = repaired[-1]
    return [*repaired[:-1], last.model_copy(update={"extra": {**(last.extra or {}), "end": end}})]


class _Saver:
    """Keeps what a run has said, whenever a message is complete."""

    def __init__(self, session: Session, run_id: str) -> None:
        self._session = session
        self._run_id = run_id
        self._last: list[Any] = []
        self._saved = 0

    def take(self, response: list[Any]) -> None:
        self._last = response
        # The last message may still grow; those before it are complete.
        if len(response) - 1 > self._saved:
            self._saved = len(response) - 1
            self._session.store.save_run(self._session.key, self._run_id, messages_from(response[:-1]))

    def end(self, end: str | None) -> None:
        self._session.store.end_run(self._session.key, self._run_id, closed(messages_from(self._last), end))
