"""`Recall`: what long-term memory knows, put into each request and never into the history."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator, with_user_text
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.utils.message_text import text_of

if TYPE_CHECKING:
    from qwen_agentkit.memory.long_term import LongTermMemory, Recollection

_TEXTS = {
    "en": {
        "facts": "What is remembered of the user (newer dates count more where two disagree):",
        "fragments": "From earlier conversations with the user:",
    },
    "zh": {"facts": "关于用户的记忆（如有矛盾，以日期较新的为准）：", "fragments": "来自与用户以往的对话："},
}
_FRAGMENT_CHARACTERS = 400


class Recall(RequestDecorator):
    """Searches memory with the last question and puts what it finds behind it.

    Args:
        memory: The memory.
        user_id: Whose; None is the user of the session that the run is in, or `local`.
        limit: The most facts, and the most fragments of past sessions.
    """

    order = 45

    def __init__(self, memory: LongTermMemory, user_id: str | None = None, limit: int = 5) -> None:
        self._memory = memory
        self._user_id = user_id
        self._limit = limit

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        question = next((text_of(message) for message in reversed(messages) if message.role == USER), "")
        if not question.strip():
            return messages
        run = current_run()
        key = run.session_key if run is not None else None
        user_id = self._user_id or (key[0] if key else "local")
        agent = run.agent if run is not None else None
        found = self._memory.search(question, user_id, agent=agent, limit=self._limit)
        here = key[1] if key else None
        facts = [one for one in found if one.fact is not None]
        fragments = [one for one in found if one.fragment is not None and one.fragment.session_id != here]
        texts = _TEXTS["zh" if lang == "zh" else "en"]
        parts = [
            "\n".join([texts[name], *map(_line, ones)])
            for name, ones in (("facts", facts), ("fragments", fragments))
            if ones
        ]
        return with_user_text(messages, "\n\n".join(parts)) if parts else messages


def _line(one: Recollection) -> str:
    day = datetime.datetime.fromtimestamp(one.created_at).strftime("%Y-%m-%d")
    text = " ".join(one.text.split())
    if one.fragment is not None:
        text = text if len(text) <= _FRAGMENT_CHARACTERS else text[:_FRAGMENT_CHARACTERS] + "…"
        return f"- ({day}, {one.fragment.role}) {text}"
    topic = f"{one.fact.topic}: " if one.fact is not None and one.fact.topic else ""
    return f"- ({day}) {topic}{text}"
