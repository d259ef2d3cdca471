"""The ChatML text form of a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence

from qwen_agentkit.log import logger
from qwen_agentkit.schema import ASSISTANT, DEFAULT_SYSTEM_MESSAGE, SYSTEM, USER, Message


def build_text_completion_prompt(
    messages: Sequence[Message], allow_special: bool = False, default_system: str = DEFAULT_SYSTEM_MESSAGE
) -> str:
    """A conversation in the ChatML text form, open for the assistant's next words.

    Deprecated in Qwen-Agent: a tokenizer's chat template does it right for each model.

    Args:
        messages: The conversation; contents are text.
        allow_special: Accepts system and function messages and tool calls behind the first message.
        default_system: Used when there is no system message.

    Raises:
        ValueError: A message is of a kind that this form has no place for.
    """
    logger.warning("build_text_completion_prompt is deprecated; use a tokenizer's apply_chat_template")
    conversation = list(messages)
    parts: list[str] = []
    if conversation and conversation[0].role == SYSTEM:
        parts.append(_chatml(SYSTEM, _text_only(conversation.pop(0))))
    elif default_system:
        parts.append(_chatml(SYSTEM, default_system))
    if not conversation or conversation[-1].role != ASSISTANT:
        conversation.append(Message(ASSISTANT, ""))
    for message in conversation:
        text = _text_only(message)
        if not allow_special and (message.role not in (USER, ASSISTANT) or message.function_call):
            raise ValueError(f"A {message.role} message or tool call needs allow_special=True")
        if message.function_call:
            call = f"<tool_call>\n{_call_json(message)}\n</tool_call>"
            text = f"{text}\n{call}" if text else call
        parts.append(_chatml(message.role, text))
    return "\n".join(parts).removesuffix("<|im_end|>")


def _chatml(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>"


def _text_only(message: Message) -> str:
    if not isinstance(message.content, str):
        raise ValueError(f"This form has no place for the content list of a {message.role} message")
    return message.content


def _call_json(message: Message) -> str:
    call = message.function_call
    if call is None:
        raise ValueError("The message holds no call")
    try:
        return json.dumps({"name": call.name, "arguments": json.loads(call.arguments)}, ensure_ascii=False, indent=2)
    except ValueError:
        return f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'
