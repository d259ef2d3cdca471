"""The rules that every message list sent to a model keeps, their check and their repair.

1. Every tool call (an assistant message with `function_call`) has an id in ``extra["function_id"]``, text that no
   other call of the history has and that is no bare number.
2. Every call is answered exactly once, by a message of role `function` with the same id and the tool's name.
3. The answers follow the reply that made the calls, at once and in the order of the calls. A reply is a run of
   assistant messages: thinking, text, calls.
4. No `function` message stands elsewhere.

The one legal open end is a pause: calls of the last reply may be unanswered when one of its messages or results
carries ``extra["end"] == "paused"``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qwen_agentkit.schema import ASSISTANT, FUNCTION, ROLES, Message, messages_from

# What a call is answered with when its result is not there.
NO_RESULT = "No result: the call was interrupted before it ended."

# Ids that Qwen-Agent gives ("1", "2", anew in each reply) and that servers refuse.
_BARE_NUMBER = re.compile(r"\d{1,9}\Z")


def check_history(messages: Iterable[Message | Mapping[str, Any]]) -> list[str]:
    """Says what breaks the rules above, one line each; an empty list is a valid history.

    Args:
        messages: The history, `Message` objects or dicts; it is not changed.

    Raises:
        ValueError: Something in the list is no message at all.
    """
    held = _as_messages(messages)
    problems: list[str] = []
    seen: set[str] = set()
    position = 0
    while position < len(held):
        message = held[position]
        if message.role not in ROLES:
            problems.append(f"messages[{position}]: the role {message.role!r} is not known")
        if message.role == FUNCTION:
            problems.append(f"messages[{position}]: a result of {message.name or 'a tool'} without a call before it")
        if message.role != ASSISTANT:
            position += 1
            continue
        end = _run_end(held, position, ASSISTANT)
        calls = [(at, held[at]) for at in range(position, end) if held[at].function_call is not None]
        answers_end = _run_end(held, end, FUNCTION) if calls else end
        for at, call in calls:
            problems.extend(_problems_of_id(at, call, seen))
        paused = answers_end == len(held) and _is_paused(held[position:])
        problems.extend(_problems_of_answers(held, calls, end, answers_end, paused))
        position = answers_end
    return problems


def _problems_of_id(position: int, call: Message, seen: set[str]) -> list[str]:
    function_id = id_of(call)
    if function_id is None:
        return [f"messages[{position}]: a call without an id in extra['function_id']"]
    if function_id in seen:
        return [f"messages[{position}]: the id {function_id!r} belongs to an earlier call"]
    seen.add(function_id)
    if _BARE_NUMBER.match(function_id):
        return [f"messages[{position}]: the id {function_id!r} is a bare number"]
    return []


def _problems_of_answers(
    held: Sequence[Message], calls: Sequence[tuple[int, Message]], start: int, end: int, paused: bool
) -> list[str]:
    problems: list[str] = []
    wanted = [id_of(call) for _, call in calls]
    order: list[int] = []
    for position in range(start, end):
        answer = held[position]
        function_id = id_of(answer)
        if not answer.name:
            problems.append(f"messages[{position}]: a result without the tool's name")
        if function_id is None or function_id not in wanted:
            problems.append(f"messages[{position}]: a result whose id {function_id!r} belongs to no call before it")
            continue
        number = wanted.index(function_id)
        if number in order:
            problems.append(f"messages[{position}]: the call {function_id!r} is answered a second time")
            continue
        order.append(number)
    if order != sorted(order):
        problems.append(f"messages[{start}]: the results are not in the order of the calls")
    if not paused:
        problems.extend(
            f"messages[{at}]: the call {id_of(call)!r} is not answered"
            for number, (at, call) in enumerate(calls)
            if number not in order
        )
    return problems


def repair_history(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Makes a history keep the rules, changing as little as it can.

    Results are moved behind their calls, results without a call and second results are left out, calls without a
    result get `NO_RESULT`, missing, repeated and numeric ids are replaced (by the same id each time, so that what
    is sent stays the same from turn to turn). All other messages stay in their order.

    Args:
        messages: The history, `Message` objects or dicts. Neither the list nor its messages are changed.

    Returns:
        A valid history. Messages that need no change are handed on as they are, the others as changed copies.
    """
    held = _as_messages(messages)
    if not check_history(held):
        return list(held)
    answers = _matched(held)
    ids = _Ids()
    repaired: list[Message] = []
    position = 0
    while position < len(held):
        if held[position].role == FUNCTION:
            position += 1
            continue
        if held[position].role != ASSISTANT:
            repaired.append(held[position])
            position += 1
            continue
        end = _run_end(held, position, ASSISTANT)
        behind: list[Message] = []
        group = [*held[position:end], *(answers[at] for at in range(position, end) if at in answers)]
        paused = _run_end(held, end, FUNCTION) == len(held) and _is_paused(group)
        for at in range(position, end):
            message = held[at]
            if message.function_call is None:
                repaired.append(message)
                continue
            function_id = ids.settle(message)
            repaired.append(with_id(message, function_id))
            answer = answers.get(at)
            if answer is not None:
                behind.append(with_id(answer, function_id, message.function_call.name))
            elif not paused:
                behind.append(
                    Message(
                        FUNCTION, NO_RESULT, name=message.function_call.name or None, extra={"function_id": function_id}
                    )
                )
        repaired.extend(behind)
        position = end
    return repaired


def _matched(held: Sequence[Message]) -> dict[int, Message]:
    """The result of each call, by the call's position. Each result is used once, the first one counts."""
    answers: dict[int, Message] = {}
    open_calls: list[int] = []
    answered: set[str] = set()
    for position, message in enumerate(held):
        if message.function_call is not None and message.role == ASSISTANT:
            open_calls.append(position)
            continue
        if message.role != FUNCTION:
            continue
        call = _call_for(held, message, open_calls, answered)
        if call is not None:
            answers[call] = message
            open_calls.remove(call)
            function_id = id_of(message)
            if function_id is not None:
                answered.add(function_id)
    return answers


def _call_for(held: Sequence[Message], answer: Message, open_calls: Sequence[int], answered: set[str]) -> int | None:
    """The open call that a result answers: by id (the newest of that id), else by name, the oldest of the newest
    reply; a result without a name answers the oldest open call of it."""
    function_id = id_of(answer)
    if function_id is not None:
        for call in reversed(open_calls):
            if id_of(held[call]) == function_id:
                return call
        if function_id in answered:
            return None  # a second result of the same call
    newest = _newest_reply(held, open_calls)
    if answer.name:
        named = [call for call in newest if _call_name(held[call]) == answer.name]
        if named:
            return named[0]
        named = [call for call in open_calls if _call_name(held[call]) == answer.name]
        return named[-1] if named else None
    return newest[0] if newest else None


def _call_name(message: Message) -> str:
    return message.function_call.name if message.function_call is not None else ""


def _newest_reply(held: Sequence[Message], open_calls: Sequence[int]) -> list[int]:
    """The open calls of the last reply that has any."""
    if not open_calls:
        return []
    start = open_calls[-1]
    while start > 0 and held[start - 1].role == ASSISTANT:
        start -= 1
    return [call for call in open_calls if call >= start]


class _Ids:
    """Ids given so far, and new ones made from what a call is, so that the same history gets the same ids."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def settle(self, call: Message) -> str:
        function_id = id_of(call)
        if function_id is None or function_id in self._used or _BARE_NUMBER.match(function_id):
            function = call.function_call
            told = f"{function_id}\0{function.name}\0{function.arguments}" if function is not None else ""
            number = 0
            while True:
                digest = hashlib.sha256(f"{number}\0{told}".encode("utf-8", "surrogatepass")).hexdigest()
                function_id = f"call_{digest[:12]}"
                if function_id not in self._used:
                    break
                number += 1
        self._used.add(function_id)
        return function_id


def id_of(message: Message) -> str | None:
    """The id that ties a call and its result, None where there is none."""
    function_id = (message.extra or {}).get("function_id")
    return function_id if isinstance(function_id, str) and function_id else None


def with_id(message: Message, function_id: str, name: str | None = None) -> Message:
    """The message under that id and, where it has no name, under that name; itself when nothing changes."""
    update: dict[str, Any] = {}
    if id_of(message) != function_id:
        update["extra"] = {**(message.extra or {}), "function_id": function_id}
    if name and not message.name:
        update["name"] = name
    return message.model_copy(update=update) if update else message


def groups_of(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Cuts a valid history where it may be cut: (start, end) of each message or whole reply with its results.

    A run of assistant messages and the results behind it are one group; any other message is one of its own.
    """
    groups: list[tuple[int, int]] = []
    position = 0
    while position < len(messages):
        end = position + 1
        if messages[position].role == ASSISTANT:
            end = _run_end(messages, _run_end(messages, position, ASSISTANT), FUNCTION)
        elif messages[position].role == FUNCTION:
            end = _run_end(messages, position, FUNCTION)
        groups.append((position, end))
        position = end
    return groups


def _run_end(messages: Sequence[Message], start: int, role: str) -> int:
    end = start
    while end < len(messages) and messages[end].role == role:
        end += 1
    return end


def _is_paused(messages: Sequence[Message]) -> bool:
    return any(message.extra is not None and message.extra.get("end") == "paused" for message in messages)


def _as_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    if isinstance(messages, (str, bytes, Mapping)):
        return messages_from(messages)  # raises: it is no list
    held = list(messages)
    kept = [message for message in held if isinstance(message, Message)]
    return kept if len(kept) == len(held) else messages_from(held)
