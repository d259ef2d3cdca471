"""Answers of a type: `agent.run(messages, output_type=Invoice)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qwen_agentkit.schema import ASSISTANT, USER, Message

if TYPE_CHECKING:
    from qwen_agentkit.agent import Agent

_SCHEMA_KEYS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items"})


def is_output_type(value: Any) -> bool:
    """Whether a run argument of that name is meant for the framework: a type, or a JSON schema."""
    return isinstance(value, type) or (isinstance(value, Mapping) and bool(_SCHEMA_KEYS & set(value)))


def with_type(
    agent: Agent, steps: Iterator[list[Message]], conversation: list[Message], wanted: Any, lang: str
) -> Iterator[list[Message]]:
    """Passes a run's yields on and sees to it that its answer has the type.

    An answer that has it is marked with `extra["parsed"]`. For one that has not, the agent's model is asked once
    more, now for the type, and that reply is the answer.

    Args:
        agent: The agent whose run it is.
        steps: The yields of its `_run`.
        conversation: What the run was given.
        wanted: The type or JSON schema.
        lang: Language of the request, `zh` or `en`.

    Raises:
        ModelServiceError: The model did not come up with it; `extra` has its text and the problem.
    """
    from qwen_agentkit.llm.structured import instruction, marked, output_form, read_answer

    form = output_form(wanted)
    response: list[Message] = []
    for response in steps:
        yield response
    if response and (response[-1].extra or {}).get("end", "answered") not in ("answered", "tool_ended"):
        return
    answer = response[-1:] if response and response[-1].role == ASSISTANT and response[-1].function_call is None else []
    if answer and "parsed" in (answer[0].extra or {}):
        return
    read = read_answer(answer, form)
    if read.problem is None:
        yield [*response[:-1], *marked(answer, read)]
        return
    if agent.llm is None:
        raise ValueError(f"The answer is not of the type {form.name} ({read.problem}), and there is no model to ask")
    asked = [*conversation, *response, Message(USER, instruction(form, lang))]
    reply = agent.llm.chat(messages=asked, stream=False, response_format=wanted, extra_generate_cfg={"lang": lang})
    yield [*response, *reply]
