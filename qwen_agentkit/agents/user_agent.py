"""`UserAgent`: a human in a team."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.utils.background_loop import background_loop

# Content of the message with which a human's turn is handed to the program that runs the team.
PENDING_USER_INPUT = "<!-- INTERRUPT: PENDING_USER_INPUT -->"

Input = str | list[ContentItem]
# Gets the conversation as the human sees it.
InputFunction = Callable[[list[Message]], "Input | Awaitable[Input]"]


def is_pending(message: Message) -> bool:
    """Whether the message only says that a human is to speak."""
    return message.content == PENDING_USER_INPUT


class UserAgent(Agent):
    """A human who takes part.

    Args:
        function_list, llm, system_message, name, description: As for `Agent`; only the last two are used.
        input_func: Called with the messages so far when it is the human's turn; returns what they say (text
            or content items), or is async and does. Async functions run on the caller's loop under `arun`.
            Without it the turn is a pause: the one message yielded has the content `PENDING_USER_INPUT` and
            `extra["end"]` is `paused`; the program appends the human's message and runs the team again.
    """

    def __init__(
        self,
        function_list: Any = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        input_func: InputFunction | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, system_message, name, description, **kwargs)
        if input_func is not None and not callable(input_func):
            raise ValueError(f"input_func is a function that returns what the human says, not {input_func!r}")
        self.input_func = input_func

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        if self.input_func is None:
            yield [Message(USER, PENDING_USER_INPUT, name=self.name, extra={"end": "paused"})]
            return
        said = self.input_func(messages)
        if inspect.isawaitable(said):
            said = _wait_for(said)
        yield [Message(USER, said, name=self.name)]


def _wait_for(awaitable: Awaitable[Input]) -> Input:
    async def wait() -> Input:
        return await awaitable

    run = current_run()
    loop = run.loop if run is not None and run.loop is not None else background_loop()
    future = asyncio.run_coroutine_threadsafe(wait(), loop)
    if run is None:
        return future.result()
    forget = run.cancel.on_cancel(future.cancel)
    try:
        return future.result()
    except concurrent.futures.CancelledError:
        run.cancel.raise_if_cancelled()
        raise
    finally:
        forget()
