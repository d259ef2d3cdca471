"""`HumanSimulator`: plays the human in a conversation with an assistant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.schema import ASSISTANT, USER, Message
from qwen_agentkit.system_message import with_system_message
from qwen_agentkit.utils.message_text import text_of

# What it says when the conversation is over.
STOP = "<|STOP|>"

PROMPT = {
    "en": "Roles are swapped: you play a person who talks to an AI assistant, and the messages of the user are the "
    "assistant's. Ask and request as people do, about the given context or what was said before.\n"
    "Reply with a JSON list of four different things that this person might say next, of various difficulty, purpose "
    "and wording, and with nothing else.\n"
    f'When the conversation has come to its end, reply with ["{STOP}"].',
    "zh": "角色互换：你扮演与 AI 助手交谈的真人，而用户发来的消息是助手说的话。"
    "请像普通人一样，围绕给定的背景或前面的对话提问、提要求。\n"
    "只回复一个 JSON 列表，写出这个人接下来可能说的四句不同的话，难度、目的和措辞各不相同，不要写其他内容。\n"
    f'如果对话可以结束了，请回复 ["{STOP}"]。',
}
_BEGIN = {"en": "Begin: what do you say first?", "zh": "请开始：你第一句说什么？"}


class HumanSimulator(Agent):
    """Says one thing that a human might say next, or `STOP`.

    In the conversation it is given, its own earlier words have the role assistant and the assistant's the role user
    (`DialogueSimulator` swaps them).

    Args:
        function_list, llm, name, description: As for `Agent`.
        system_message: Who the human is and what they want; put after the task.
        **kwargs: As for `Agent`. `run` takes `seed`, which chooses among what the model offers (42 by default).
    """

    def __init__(
        self,
        function_list: Any = None,
        llm: Any = None,
        system_message: str | None = None,
        name: str | None = None,
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, system_message, name, description, **kwargs)

    def _run(
        self, messages: list[Message], lang: str = "en", seed: int | None = None, **kwargs: Any
    ) -> Iterator[list[Message]]:
        language = "zh" if lang == "zh" else "en"
        asked = with_system_message(messages, PROMPT[language])
        if asked[-1].role != USER:
            asked = [*asked, Message(USER, _BEGIN[language])]
        *_, reply = self._call_llm(asked, extra_generate_cfg={"lang": lang})
        offered = _offers("\n".join(filter(None, (text_of(message) for message in reply))))
        choice = random.Random(f"{42 if seed is None else seed}/{len(messages)}").choice(offered)
        yield [Message(ASSISTANT, choice)]


def _offers(text: str) -> list[str]:
    """What the model offers to say; only `STOP` when it cannot be read."""
    from qwen_agentkit.llm.arguments import read_json

    try:
        value = read_json(text).value
    except ValueError:
        return [STOP]
    if not isinstance(value, list):
        return [STOP]
    return [item.strip() for item in value if isinstance(item, str) and item.strip()] or [STOP]
