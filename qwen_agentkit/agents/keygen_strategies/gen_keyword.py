"""Keywords of a question, in Chinese and English, so that documents in either language are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.keygen_strategies.words import last_text
from qwen_agentkit.schema import USER, Message

_PROMPTS = {
    "en": """Name the words by which a search engine would find passages that answer the question. Give names, terms
and numbers from the question itself and close synonyms, in Chinese and in English, at most eight each. No words that
only say how to answer. Reply with one JSON object and nothing else, in this form:
{{"keywords_zh": ["...", "..."], "keywords_en": ["...", "..."]}}
{vocabulary}
Question: {question}""",
    "zh": """请给出搜索引擎能据以找到答案段落的关键词：取自问题中的名称、术语和数字，以及贴近的同义词，
中文和英文各不超过八个。
不要给出只说明如何作答的词。只回复一个 JSON 对象，格式如下：
{{"keywords_zh": ["……", "……"], "keywords_en": ["……", "……"]}}
{vocabulary}
问题：{question}""",
}
_VOCABULARY = {
    "en": "Frequent terms of the documents; prefer them where they fit: {words}\n",
    "zh": "文档中的常用词，合适时优先采用：{words}\n",
}


class GenKeyword(Agent):
    """One model call that gives `{"keywords_zh": [...], "keywords_en": [...]}` for the last user message."""

    def _run(
        self, messages: list[Message], lang: str = "en", files: Sequence[str] | None = None, **kwargs: Any
    ) -> Iterator[list[Message]]:
        lang = "zh" if lang == "zh" else "en"
        words = self._vocabulary(files or [])
        vocabulary = _VOCABULARY[lang].format(words=words) if words else ""
        prompt = _PROMPTS[lang].format(question=last_text(messages), vocabulary=vocabulary)
        yield from self._call_llm([Message(USER, prompt)], extra_generate_cfg={"lang": lang})

    def _vocabulary(self, files: Sequence[str]) -> str:
        return ""


class GenKeywordWithKnowledge(GenKeyword):
    """`GenKeyword` whose prompt also shows frequent terms of the documents (run argument `files`)."""

    def _vocabulary(self, files: Sequence[str]) -> str:
        if not files:
            return ""
        from qwen_agentkit.tools.extract_doc_vocabulary import ExtractDocVocabulary

        return str(ExtractDocVocabulary().call({"files": list(files)}))
