"""Adds to an answer what it rests on: citations, unsupported sentences, whether it answers at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qwen_agentkit.schema import ASSISTANT, FUNCTION, SYSTEM, USER, Message
from qwen_agentkit.utils.knowledge import Passage, read_knowledge
from qwen_agentkit.utils.message_text import text_of


def with_citations(steps: Iterator[list[Message]], prompt: list[Message]) -> Iterator[list[Message]]:
    """Passes a run's yields on, and yields its answer once more with `extra` filled in.

    Args:
        steps: The yields of a `_run`.
        prompt: The messages that were sent; their knowledge block is what the answer can cite.

    Yields:
        The yields of `steps`, then, when there was knowledge, the last one with `citations`, `unsupported` and
        `answered` on its last assistant message.
    """
    response: list[Message] = []
    for response in steps:
        yield response
    passages = passages_in(prompt, response)
    if not passages:
        return
    for index in range(len(response) - 1, -1, -1):
        message = response[index]
        if message.role == ASSISTANT and message.function_call is None and message.content:
            grounded = message.model_copy(update={"extra": {**_grounding(message, passages), **(message.extra or {})}})
            yield [*response[:index], grounded, *response[index + 1 :]]
            return


def passages_in(prompt: list[Message], response: list[Message]) -> list[Passage]:
    """The passages that an answer may cite, one a number.

    What this turn brought comes first: results of earlier turns' searches may bear the same numbers.
    """
    told = [message for message in prompt if message.role in (SYSTEM, USER)]
    earlier = [message for message in prompt if message.role == FUNCTION]
    found: dict[int, Passage] = {}
    for message in [*told, *(one for one in response if one.role == FUNCTION), *earlier]:
        for passage in read_knowledge(text_of(message)):
            found.setdefault(passage.n, passage)
    return list(found.values())


def _grounding(message: Message, passages: list[Passage]) -> dict[str, Any]:
    from qwen_agentkit.rag.citations import ground

    found = ground(text_of(message), passages)
    return {"citations": found.citations, "unsupported": found.unsupported, "answered": found.answered}
