"""`Assistant`: an agent with tools that reads documents before it answers."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.grounding import with_citations
from qwen_agentkit.agents.knowledge_tool import KNOWLEDGE_TOOL, KnowledgeTool
from qwen_agentkit.agents.loop.turn import Resumption, Turn
from qwen_agentkit.agents.request_decorators.base import with_user_text
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.system_message import appended
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.knowledge import HEADINGS, Passage, passages_from_retrieval, write_knowledge

# Names that Qwen-Agent programs import. The block that prompts really carry is written by `utils.knowledge`.
KNOWLEDGE_TEMPLATE = {lang: heading + "\n\n{knowledge}" for lang, heading in HEADINGS.items()}
KNOWLEDGE_SNIPPET = {
    "en": "## From {source}:\n\n```\n{content}\n```",
    "zh": "## 来自 {source} 的内容：\n\n```\n{content}\n```",
}

_GIVEN = {"en": "given text", "zh": "给定的资料"}
_UNREADABLE = {
    "en": "These files could not be read, so nothing is known of what they say. Tell the user so where it matters:",
    "zh": "以下文件无法读取，因此不知道其中的内容。如与问题有关，请告知用户：",
}


def format_knowledge_to_source_and_content(result: str | list[dict]) -> list[dict[str, str]]:
    """What `Memory` or the `retrieval` tool found, as `{"source", "content"}` dicts, one a document.

    Text that is no such list is one document of its own.
    """
    return [
        {"source": source, "content": "\n\n...\n\n".join(passage.text for passage in passages)}
        for source, passages in _by_source(knowledge_passages(result)).items()
    ]


def _by_source(passages: list[Passage]) -> dict[str, list[Passage]]:
    grouped: dict[str, list[Passage]] = {}
    for passage in passages:
        grouped.setdefault(passage.source, []).append(passage)
    return grouped


def knowledge_passages(knowledge: str | list[dict], lang: str = "en") -> list[Passage]:
    """Numbered passages from a retrieval result, its JSON text, or any other text (one passage)."""
    if not knowledge:
        return []
    if isinstance(knowledge, str):
        try:
            return passages_from_retrieval(json.loads(knowledge))
        except (ValueError, TypeError):
            return [Passage(1, _GIVEN.get(lang, _GIVEN["en"]), knowledge)]
    return passages_from_retrieval(knowledge)


class Assistant(FnCallAgent):
    """An agent that retrieves from documents, puts what it found into the system message, and may call tools.

    Documents are those of `files` and every `file` item in the conversation.

    Args:
        function_list, llm, system_message, name, description, files: As for `FnCallAgent`.
        rag_cfg: Settings of retrieval, see `qwen_agentkit.memory.Memory`.
        **kwargs: As for `FnCallAgent`.

    The answer's `extra` says what it rests on: `citations` (dicts with `n, source, page, page_end, sheet, rows,
    section, quote, start, end, score`), `unsupported` (sentences that no passage supports) and `answered` (False:
    the documents do not say).
    """

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        saved = kwargs.get("resume_from")
        if isinstance(saved, Resumption):
            prepared = saved.conversation
        else:
            prepared = self._prepend_knowledge_prompt(messages, lang, knowledge, **kwargs)
        yield from with_citations(super()._run(prepared, lang=lang, **kwargs), prepared)

    def _prepend_knowledge_prompt(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> list[Message]:
        """The conversation with what is known put at the end of its system message.

        Args:
            messages: The conversation.
            lang: Language of the prompt.
            knowledge: Given, it is used and nothing is retrieved.
            **kwargs: Handed to the memory.

        Returns:
            A new list; the same messages when nothing was found.
        """
        problems: list[dict[str, str]] = []
        if not knowledge and self._knowledge_mode != "tool" and self._has_documents(messages):
            *_, last = self.mem.run(messages, lang=lang, **kwargs)
            knowledge = last[-1].content
            problems = _problems_of_run()
        block = write_knowledge(knowledge_passages(knowledge, lang), lang)
        if block:
            messages = self._with_block(messages, block)
        if problems:
            lines = [_UNREADABLE.get(lang, _UNREADABLE["en"])]
            lines += [f"- {problem['file']}: {problem['reason']}" for problem in problems]
            messages = appended(messages, "\n".join(lines))
        return messages

    def _with_block(self, messages: list[Message], block: str) -> list[Message]:
        """The conversation with the knowledge block where `rag_cfg["knowledge_in"]` wants it."""
        if self._rag_cfg.get("knowledge_in", "system") == "user":
            return with_user_text(messages, block)
        return appended(messages, block)

    @property
    def _knowledge_mode(self) -> str:
        return self._rag_cfg.get("knowledge_mode", "inject")

    def _tools(self, turn: Turn) -> dict[str, BaseTool]:
        tools = super()._tools(turn)
        if self._knowledge_mode != "inject" and self._has_documents(turn.conversation):
            tools = {**tools, KNOWLEDGE_TOOL: KnowledgeTool(self.mem)}
            run = current_run()
            if run is not None:
                run.own("fncall.tools", dict).update(tools)
        return tools

    def _has_documents(self, messages: list[Message]) -> bool:
        return bool(self._files) or self._mem is not None or bool(self._conversation_files(messages))

    @staticmethod
    def _conversation_files(messages: list[Message]) -> list[str]:
        from qwen_agentkit.utils.message_files import files_of

        return files_of(messages)


def _problems_of_run() -> list[dict[str, str]]:
    run = current_run()
    return list(run.own("memory.problems", list)) if run is not None else []


def get_current_date_str(lang: str = "en", hours_from_utc: int | None = None) -> str:
    """Today's date in words, for a system message.

    Args:
        lang: `zh` or `en`.
        hours_from_utc: Time zone, None is the machine's.
    """
    if hours_from_utc is None:
        now = datetime.datetime.now()
    else:
        now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=hours_from_utc)))
    if lang == "zh":
        weekday = "一二三四五六日"[now.weekday()]
        return f"当前日期：{now.year}年{now.month}月{now.day}日，星期{weekday}。"
    if lang != "en":
        raise ValueError(f"lang is 'zh' or 'en', not {lang!r}")
    return f"Current date: {now:%A}, {now:%B} {now.day}, {now.year}."
