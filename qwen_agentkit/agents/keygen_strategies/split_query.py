"""Separates what a request wants to know from how it wants it told: only the former is searched for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.keygen_strategies.gen_keyword import GenKeyword, GenKeywordWithKnowledge
from qwen_agentkit.agents.keygen_strategies.words import last_text, read_object
from qwen_agentkit.schema import USER, Message

_PROMPTS = {
    "en": """A request to an assistant with documents has two sides: the information to look up, and instructions on
how to present it (language, length, style, role). Separate them, in the request's own words. Either list may be empty.
Reply with one JSON object and nothing else, in this form:
{{"information": ["...", "..."], "instruction": ["...", "..."]}}

Request: {question}""",
    "zh": """对带有文档的助手提出的请求包含两部分：需要查找的信息，以及如何呈现的指令（语言、长度、文风、角色等）。
请用请求中的原话把两者分开，任一列表都可以为空。只回复一个 JSON 对象，格式如下：
{{"information": ["……", "……"], "instruction": ["……", "……"]}}

请求：{question}""",
}


class SplitQuery(Agent):
    """One model call that gives `{"information": [...], "instruction": [...]}` for the last user message."""

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        prompt = _PROMPTS["zh" if lang == "zh" else "en"].format(question=last_text(messages))
        yield from self._call_llm([Message(USER, prompt)], extra_generate_cfg={"lang": lang})


class SplitQueryThenGenKeyword(Agent):
    """`SplitQuery`, then the keywords of the information alone."""

    keyword_agent: type[GenKeyword] = GenKeyword

    def _run(
        self, messages: list[Message], lang: str = "en", files: Sequence[str] | None = None, **kwargs: Any
    ) -> Iterator[list[Message]]:
        splitter, keywords = SplitQuery(llm=self.llm), self.keyword_agent(llm=self.llm)
        split = splitter.run_nonstream(messages, lang=lang)
        wanted = (read_object(split[-1].content) if split else {}).get("information")
        parts = [wanted] if isinstance(wanted, str) else [part for part in wanted or [] if isinstance(part, str)]
        question = ", ".join(parts) or last_text(messages)
        yield from keywords.run([Message(USER, question)], lang=lang, files=files)


class SplitQueryThenGenKeywordWithKnowledge(SplitQueryThenGenKeyword):
    """`SplitQuery`, then `GenKeywordWithKnowledge`."""

    keyword_agent = GenKeywordWithKnowledge
