"""`DialogueRetrievalAgent`: answers within a dialogue that is far too long for a prompt."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.agents.assistant import Assistant
from qwen_agentkit.schema import SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.files import safe_name, write_atomically
from qwen_agentkit.utils.message_text import text_of

# Characters of a last message that are taken as the question itself.
MAX_TRUNCATED_QUERY_LENGTH = 1000

EXTRACT_QUERY_TEMPLATE = {
    "en": "<text>\n{text}\n</text>\n\nThe text holds a request of a user and material that belongs to it; "
    "the request usually stands at the beginning or the end. Copy the request word for word. Do not "
    "answer it, and write nothing else.",
    "zh": "<text>\n{text}\n</text>\n\n上面的文本里有用户的一个请求以及相关材料，请求通常在开头或结尾。请一"
    "字不差地抄出这个请求，不要回答它，也不要写其他内容。",
}


class DialogueRetrievalAgent(Assistant):
    """Keeps what was said before in a text file, and answers the last message from what is found there.

    A last message of over 1000 characters is divided by the model: its request is the question, the rest joins
    the file. `run` takes `session_id`, which becomes part of the file's name in the workspace.
    """

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        knowledge: str | list[dict] = "",
        session_id: str = "",
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        if not messages or messages[-1].role != USER:
            raise ValueError("The conversation ends with the user's message, which is to be answered")
        *before, last = messages
        history = [f"{message.name or message.role}: {_with_uploads(message)}" for message in before if _tells(message)]
        text = text_of(last)
        query = text
        if len(text) > MAX_TRUNCATED_QUERY_LENGTH:
            query = self._request_in(text, lang)
            # A request that is not word for word in the text stays there too.
            history.append(text.replace(query, "", 1).strip() if query else text)
            query = query or text[:MAX_TRUNCATED_QUERY_LENGTH]
        content = [ContentItem(text=query)]
        if history:
            content.append(ContentItem(file=str(_kept("\n".join(history), session_id))))
        if isinstance(last.content, list):
            content += [item for item in last.content if item.type != "text"]
        asked = [message for message in before if message.role == SYSTEM]
        asked.append(last.model_copy(update={"content": content}))
        yield from super()._run(asked, lang=lang, knowledge=knowledge, **kwargs)

    def _request_in(self, text: str, lang: str) -> str:
        """The user's request in a long message, as the model copies it; empty when it gives none."""
        half = MAX_TRUNCATED_QUERY_LENGTH
        shown = text if len(text) <= 2 * half else f"{text[:half]} ... {text[-half:]}"
        template = EXTRACT_QUERY_TEMPLATE["zh" if lang == "zh" else "en"]
        *_, reply = self._call_llm([Message(USER, template.format(text=shown))], extra_generate_cfg={"lang": lang})
        return "\n".join(filter(None, (text_of(message) for message in reply))).strip()


def _tells(message: Message) -> bool:
    return message.role != SYSTEM and message.function_call is None and bool(_with_uploads(message))


def _with_uploads(message: Message) -> str:
    """The text of a message, with the names of what was uploaded with it."""
    if isinstance(message.content, str):
        return message.content.strip()
    return " ".join(
        str(item.value) if item.type == "text" else f"[{item.type}]({item.value})" for item in message.content
    ).strip()


def _kept(text: str, session_id: str) -> Path:
    """Writes the history into the workspace. The name tells session, time and content apart, so none is overwritten."""
    now = datetime.datetime.now()
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    session = safe_name(session_id, default="") if session_id else ""
    name = f"dialogue_history_{session}_{now:%Y%m%d_%H%M%S}_{digest}.txt"
    path = Path(settings.DEFAULT_WORKSPACE).resolve() / name
    write_atomically(path, text)
    return path
