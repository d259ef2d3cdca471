"""What the writing agents share: a prompt around the user's request, and the knowledge in front of it."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.agents.assistant import knowledge_passages
from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.utils.knowledge import write_knowledge
from qwen_agentkit.utils.message_text import text_of


def knowledge_block(knowledge: str | list[dict], lang: str) -> str:
    """Knowledge as it stands in a prompt; empty when there is none.

    Args:
        knowledge: What `Memory` or the `retrieval` tool found, or any text.
        lang: `zh` or `en`.
    """
    return write_knowledge(knowledge_passages(knowledge, lang), lang)


def with_request_in(template: str, messages: list[Message], **fields: Any) -> list[Message]:
    """The conversation with its last user message put into a prompt.

    Args:
        template: The prompt, with the field `request` and those in `fields`.
        messages: The conversation; not changed.
        **fields: Filled into the template.

    Returns:
        A new list. Images and files of the message stay. Without any message the request is empty.
    """
    if not messages or messages[-1].role != USER:
        return [*messages, Message(USER, template.format(request="", **fields).strip())]
    last = messages[-1]
    text = template.format(request=text_of(last), **fields).strip()
    if isinstance(last.content, str):
        return [*messages[:-1], last.model_copy(update={"content": text})]
    others = [item for item in last.content if item.type != "text"]
    return [*messages[:-1], last.model_copy(update={"content": [ContentItem(text=text), *others]})]


def in_language(templates: dict[str, str], lang: str) -> str:
    """The template in the language of the run; any other language than Chinese gets the English one."""
    return templates["zh" if lang == "zh" else "en"]
