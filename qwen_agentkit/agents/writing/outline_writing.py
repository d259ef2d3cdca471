"""`OutlineWriting`: makes the outline of an article."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.writing.one_prompt import in_language, knowledge_block, with_request_in
from qwen_agentkit.schema import Message

PROMPT_TEMPLATE = {
    "en": "An article is to be written from reference material.\n\n{knowledge}\n\nIts title or subject: {request}\n\n"
    "Write its outline and nothing else. Number the headings of the first level with Roman numerals, as in `I. ...`. "
    "Use only what the reference material supports.",
    "zh": "需要根据参考资料写一篇文章。\n\n{knowledge}\n\n标题或主题：{request}\n\n"
    "请只写出文章的大纲。一级标题用罗马数字编号，如“I. ……”。只使用参考资料能够支持的内容。",
}

# How a heading of the first level may be numbered, from what is asked for to what models write instead.
_NUMBERINGS = (
    re.compile(
        r"^[ \t]{0,3}(?:[#*]+[ \t]*)?(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
        r"[.．、:：)]\s*\S"
    ),
    re.compile(r"^(?:[#*]+[ \t]*)?[一二三四五六七八九十百]+[、.．]\s*\S"),
    re.compile(r"^(?:[#*]+[ \t]*)?\d{1,3}[.．、)](?!\d)\s*\S"),
    re.compile(r"^#{1,2}[ \t]+\S"),
)


class OutlineWriting(Agent):
    """Makes an outline for the subject of the last user message. `run` takes `knowledge`, reference material."""

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        template = in_language(PROMPT_TEMPLATE, lang)
        asked = with_request_in(template, messages, knowledge=knowledge_block(knowledge, lang))
        yield from self._call_llm(asked, extra_generate_cfg={"lang": lang})


def headings_of(outline: str) -> list[str]:
    """The headings of the first level in an outline, in order; empty when none can be told.

    Roman numerals are looked for first, then Chinese and Arabic ones, then Markdown headings.
    """
    lines = outline.splitlines()
    for numbering in _NUMBERINGS:
        found = [line.strip().strip("*").strip() for line in lines if numbering.match(line)]
        if found:
            return found
    return []
