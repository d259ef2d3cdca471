"""`ArticleAgent`: writes an article, or goes on with one, from documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.assistant import Assistant, format_knowledge_to_source_and_content
from qwen_agentkit.agents.write_from_scratch import WriteFromScratch
from qwen_agentkit.agents.writing.continue_writing import ContinueWriting
from qwen_agentkit.schema import ASSISTANT, Message
from qwen_agentkit.utils.message_text import text_of

_FOUND = {
    "en": ">\n> Reference material from: {sources}\n",
    "zh": ">\n> 参考资料来源：{sources}\n",
}
_TEXT = {"en": ">\n> Text:\n", "zh": ">\n> 正文：\n"}


class ArticleAgent(Assistant):
    """Writes from documents: those of `files`, and the files in the conversation.

    `run` takes `full_article` (True: a whole article about the subject of the last message; False: the text of the
    last message is gone on with) and `knowledge` (in place of retrieval).
    """

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        knowledge: str | list[dict] = "",
        full_article: bool = False,
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        if not knowledge and self._has_documents(messages):
            *_, last = self.mem.run(messages, lang=lang, **kwargs)
            knowledge = text_of(last[-1])
        language = "zh" if lang == "zh" else "en"
        response: list[Message] = []
        if knowledge:
            found = format_knowledge_to_source_and_content(knowledge)
            sources = ", ".join(dict.fromkeys(entry["source"] for entry in found))
            response = [Message(ASSISTANT, _FOUND[language].format(sources=sources))]
            yield response
        writer: Agent
        if full_article:
            writer = WriteFromScratch(llm=self.llm)
        else:
            writer = ContinueWriting(llm=self.llm)
            response = [*response, Message(ASSISTANT, _TEXT[language])]
            yield response
        for said in cast("Iterator[list[Message]]", writer.run(messages, lang=lang, knowledge=knowledge)):
            yield response + said
