"""From what a `_run` yields to what `run` yields: lists that never change again, and the events between them.

Contract: each list is new, a message that differs from its last snapshot is copied, an unchanged one is shared.
So a `_run` may append to one list and change one message as it likes, and a reader may keep every yield.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from qwen_agentkit.events import (
    OK,
    MessageReplaced,
    ReasoningDelta,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import ASSISTANT, FUNCTION, Message
from qwen_agentkit.tool_ledger import tool_ledger
from qwen_agentkit.utils.message_text import text_of


class Snapshots:
    """The snapshots of one run.

    Args:
        run: The run, for its events.
        name: Given to response messages that have none.
        as_dicts: Whether the reader gets dicts.
    """

    def __init__(self, run: RunContext, name: str | None, as_dicts: bool) -> None:
        self._run = run
        self._name = name
        self._as_dicts = as_dicts
        self.messages: list[Message] = []
        self._dicts: list[dict[str, Any]] = []

    def take(self, yielded: Iterable[Message | dict]) -> list[Message] | list[dict[str, Any]]:
        """The snapshot for one yield; events for what changed are emitted on the way.

        Raises:
            ValueError: `_run` yielded something that is no list of messages.
        """
        if isinstance(yielded, (Message, dict, str)) or not isinstance(yielded, Iterable):
            raise ValueError(
                f"_run yields the whole response so far as a list of messages, not a {type(yielded).__name__}"
            )
        before = self.messages
        after: list[Message] = []
        for index, message in enumerate(yielded):
            if not isinstance(message, Message):
                message = Message.model_validate(message)
            last = before[index] if index < len(before) else None
            if last is not None and self._same(message, last):
                after.append(last)
                continue
            copied = message.model_copy(deep=True)
            if not copied.name and self._name:
                copied.name = self._name
            after.append(copied)
            if self._run.sink is not None and not self._run.announced(message):
                self._emit_change(index, last, copied)
        if self._run.sink is not None:
            for index in range(len(after), len(before)):
                self._run.emit(MessageReplaced, message_id=self._id(index), message=None)
        self.messages = after
        if not self._as_dicts:
            given: list[Any] = list(after)
        else:
            given = [
                self._dicts[index] if index < len(before) and before[index] is message else message.model_dump()
                for index, message in enumerate(after)
            ]
            self._dicts = given
            given = list(given)
        return given

    def _same(self, message: Message, last: Message) -> bool:
        return (
            message.role == last.role
            and (message.name or self._name) == last.name
            and message.content == last.content
            and message.reasoning_content == last.reasoning_content
            and message.function_call == last.function_call
            and message.extra == last.extra
        )

    def _id(self, index: int) -> str:
        return f"{self._run.run_id}/{index}"

    def _emit_change(self, index: int, last: Message | None, message: Message) -> None:
        run, message_id = self._run, self._id(index)
        if last is not None and (
            not _grew(text_of(last), text_of(message))
            or not _grew(last.reasoning_content or "", message.reasoning_content or "")
            or (last.function_call is not None and last.function_call != message.function_call)
            or last.role != message.role
        ):
            run.emit(MessageReplaced, message_id=message_id, message=message.model_dump())
            return
        if message.role == FUNCTION:
            if last is None:
                self._emit_result(message)
            return
        if message.role != ASSISTANT:
            return
        thought = (message.reasoning_content or "")[len(last.reasoning_content or "") if last else 0 :]
        if thought:
            run.emit(ReasoningDelta, message_id=message_id, text=thought)
        text = text_of(message)[len(text_of(last)) if last else 0 :]
        if text:
            run.emit(TextDelta, message_id=message_id, text=text)
        call = message.function_call
        if call is not None and (last is None or last.function_call is None):
            call_id = (message.extra or {}).get("function_id")
            call_id = tool_ledger(run).announce(call_id, call.name, call.arguments)
            if call_id is not None:
                run.emit(ToolCallStarted, call_id=call_id, name=call.name, arguments=call.arguments)

    def _emit_result(self, message: Message) -> None:
        call_id = (message.extra or {}).get("function_id")
        call_id = tool_ledger(self._run).conclude(call_id, message.name or "")
        if call_id is not None:
            result = message.content if isinstance(message.content, str) else message.model_dump()["content"]
            self._run.emit(ToolCallFinished, call_id=call_id, name=message.name or "", outcome=OK, result=result)


def _grew(before: str, after: str) -> bool:
    return after.startswith(before)
