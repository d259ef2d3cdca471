"""Draws facts worth remembering from a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from qwen_agentkit.llm.arguments import read_json
from qwen_agentkit.schema import ASSISTANT, USER, Message, messages_from
from qwen_agentkit.utils.language import detect_language
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.untrusted import as_data

_PROMPTS = {
    "en": """From the conversation below, note what is worth remembering of the user for later conversations: who they
are, what they own, want, prefer, have decided or asked for. Nothing that holds only for the moment, and nothing that
the conversation does not say. Reply with a JSON list and nothing else; [] when there is nothing:
[{{"topic": "...", "text": "one sentence", "points": ["key point", "..."]}}]

{conversation}""",
    "zh": """请从下面的对话中记录值得长期记住的、关于用户的信息：
他们是谁，拥有什么，想要什么，有什么偏好，做过什么决定或请求。
不要记录只在当下有效的内容，也不要记录对话中没有说过的内容。只回复一个 JSON 列表；没有则回复 []：
[{{"topic": "……", "text": "一句话", "points": ["要点", "……"]}}]

{conversation}""",
}


def draw_facts(messages: Sequence[Message | dict], llm: Any) -> list[dict[str, Any]]:
    """The facts that a model finds in a conversation.

    Args:
        messages: The conversation.
        llm: A model, or its configuration.

    Returns:
        `{"topic", "text", "points"}` for each; [] when there are none or the model's reply cannot be read.
    """
    if isinstance(llm, (dict, str)):
        from qwen_agentkit.llm import get_chat_model

        llm = get_chat_model(llm)
    said = [message for message in messages_from(messages) if message.role in (USER, ASSISTANT) and text_of(message)]
    if not said:
        return []
    lang = detect_language(said)
    transcript = "\n".join(f"{message.role}: {text_of(message)}" for message in said)
    prompt = _PROMPTS[lang].format(conversation=as_data(transcript, "conversation", lang))
    reply = llm.chat(messages=[Message(USER, prompt)], stream=False, extra_generate_cfg={"lang": lang})
    try:
        held = read_json("".join(text_of(message) for message in reply)).value
    except ValueError:
        return []
    entries = held if isinstance(held, list) else [held]
    return [_fact(entry) for entry in entries if isinstance(entry, dict) and str(entry.get("text") or "").strip()]


def _fact(entry: dict[str, Any]) -> dict[str, Any]:
    points = entry.get("points")
    return {
        "topic": str(entry.get("topic") or "").strip(),
        "text": " ".join(str(entry["text"]).split()),
        "points": [point if isinstance(point, str) else json.dumps(point, ensure_ascii=False) for point in points]
        if isinstance(points, list)
        else [],
    }
