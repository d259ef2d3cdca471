"""Agents that work at the same time, each in a thread of the run."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message

# Threads of one set of branches; further ones wait for their turn.
MOST_AT_ONCE = 8


@dataclass
class Branch:
    """One agent's part.

    Args:
        agent: Who works.
        messages: What it is given.
        kwargs: Arguments of its run.
        said: Its response so far.
        error: What it raised, None when it did not.
        done: It has ended.
    """

    agent: Agent
    messages: list[Message]
    kwargs: dict[str, Any] = field(default_factory=dict)
    said: list[Message] = field(default_factory=list)
    error: Exception | None = None
    done: bool = False


def run_branches(
    branches: Sequence[Branch], at_once: int = MOST_AT_ONCE, cancel: CancelToken | None = None
) -> Iterator[Branch]:
    """Runs all branches; they share the run's budget and cancel token. A branch's error ends only that branch.

    Args:
        branches: What is to be done. Their `said`, `error` and `done` are filled in.
        at_once: Threads.
        cancel: Breaks the branches off; each ends with what it has said.

    Yields:
        The branch that has said something new, or has ended. Changes that came together are told of once.

    Raises:
        RunCancelled: The run was cancelled; the branches have been told to end.
    """
    run = current_run()
    waiting: queue.SimpleQueue[tuple[Branch, list[Message] | None, Exception | None]] = queue.SimpleQueue()
    token = CancelToken(run.cancel if run is not None else None)
    unlink_outside = cancel.on_cancel(lambda: token.cancel(cancel.reason or "cancelled")) if cancel else lambda: None
    slots = threading.Semaphore(max(1, at_once))

    def work(branch: Branch) -> None:
        try:
            with slots:
                for said in branch.agent.run(branch.messages, cancel=token, **branch.kwargs):
                    waiting.put((branch, cast("list[Message]", said), None))
        except Exception as error:
            waiting.put((branch, None, error))
        else:
            waiting.put((branch, None, None))

    for branch in branches:
        # A context of its own for each thread: the same one cannot be entered twice at a time.
        context = contextvars.copy_context()
        name = f"branch-{branch.agent.name or type(branch.agent).__name__}"
        threading.Thread(target=context.run, args=(work, branch), name=name, daemon=True).start()
    unlink = token.on_cancel(lambda: waiting.put((branches[0], [], None))) if branches else lambda: None
    try:
        while not all(branch.done for branch in branches):
            branch, said, error = waiting.get()
            if run is not None:
                run.cancel.raise_if_cancelled()
            if said is None:
                branch.done, branch.error = True, error
            elif said:
                branch.said = said
            yield branch
    finally:
        unlink()
        unlink_outside()
        token.cancel("closed")
        token.detach()
