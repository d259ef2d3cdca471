"""`ParallelDocQA`: reads every part of long documents with the model, many parts at once, then answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from qwen_agentkit.agent import wanted_form
from qwen_agentkit.agents.assistant import Assistant, knowledge_passages
from qwen_agentkit.agents.doc_qa.basic_doc_qa import INSTRUCTION
from qwen_agentkit.agents.doc_qa.part_readers import Finding, read_parts
from qwen_agentkit.agents.grounding import with_citations
from qwen_agentkit.schema import USER, Message
from qwen_agentkit.system_message import appended, with_system_message
from qwen_agentkit.utils.knowledge import Passage, retrieval_from_passages, write_knowledge
from qwen_agentkit.utils.message_text import text_of
from qwen_agentkit.utils.tokenization_qwen import count_tokens

# Tokens of one part, of the passages in the last prompt, and of one of these.
PART_TOKENS = 1000
RAG_TOKENS = 4500
RAG_CHUNK_TOKENS = 300

_FINDINGS = {
    "en": "Readers of single parts of the documents have noted the following. Use it where the passages bear it out:",
    "zh": "分段阅读文档的读者记录了以下内容，在段落能够证实时可以采用：",
}


class ParallelDocQA(Assistant):
    """Map, retrieve, answer: each part of the documents is read by a model call of its own, several at once; then
    passages are retrieved with the question and what was found, and one last call answers with citations.

    Args:
        function_list, llm, system_message, name, description, files: As for `Assistant`.
        map_tokens: Tokens of document text that are read part by part. Of longer documents the parts that fit the
            question best are read.
        max_concurrency: Parts that are read at once.
        **kwargs: As for `Assistant`.

    Progress is told as `ToolProgress` events of the call `map`.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = "ParallelDocQA",
        description: str | None = "Answers questions about long documents, reading them part by part.",
        files: Sequence[str] | None = None,
        map_tokens: int = 200_000,
        max_concurrency: int = 8,
        **kwargs: Any,
    ) -> None:
        if map_tokens < PART_TOKENS or max_concurrency < 1:
            raise ValueError(
                f"map_tokens is at least {PART_TOKENS} and max_concurrency at least 1; "
                f"given {map_tokens!r} and {max_concurrency!r}"
            )
        super().__init__(function_list, llm, system_message, name, description, files, **kwargs)
        self.map_tokens = map_tokens
        self.max_concurrency = max_concurrency

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        lang = "zh" if lang == "zh" else "en"
        question = next((text_of(message) for message in reversed(messages) if message.role == USER), "")
        parts = self._parts(question, messages) if not knowledge else []
        findings = read_parts(self, question, parts, lang, self.max_concurrency)
        if not knowledge:
            knowledge = self._passages(question, messages, findings)
        prepared = with_system_message(messages, INSTRUCTION[lang])
        passages = knowledge_passages(knowledge, lang)
        if passages:
            prepared = appended(prepared, write_knowledge(passages, lang))
        if findings:
            lines = [_FINDINGS[lang], *(f"- {finding.text}" for finding in findings)]
            prepared = appended(prepared, "\n".join(lines))
        settings = {"lang": lang, **({"seed": kwargs["seed"]} if kwargs.get("seed") is not None else {})}
        yield from with_citations(self._call_llm(prepared, extra_generate_cfg=settings, **wanted_form()), prepared)
        self._keep_files(messages)

    def _parts(self, question: str, messages: list[Message]) -> list[Passage]:
        """The parts to read: all of the documents, or those that fit the question best."""
        files = self.mem.get_rag_files(messages)
        if not files:
            return []
        found = self.mem.find(question, files, max_ref_token=self.map_tokens, parser_page_size=PART_TOKENS)
        return knowledge_passages(found)

    def _passages(self, question: str, messages: list[Message], findings: list[Finding]) -> list[dict[str, Any]]:
        """Passages for the answer: those retrieved with the question and the findings, and the parts that had any."""
        files = self.mem.get_rag_files(messages)
        if not files:
            return []
        query = {"text": question, "keywords": [finding.text for finding in findings][:20]}
        found = self.mem.find(
            json.dumps(query, ensure_ascii=False), files, max_ref_token=RAG_TOKENS, parser_page_size=RAG_CHUNK_TOKENS
        )
        passages = knowledge_passages(found)
        left = RAG_TOKENS
        for finding in findings:
            left -= count_tokens(finding.part.text)
            if left < 0:
                break
            if not any(_overlap(finding.part, passage) for passage in passages):
                passages.append(finding.part)
        return retrieval_from_passages(passages)


def _overlap(part: Passage, passage: Passage) -> bool:
    if part.source != passage.source or part.start is None or passage.start is None:
        return False
    return passage.start < (part.end or 0) and part.start < (passage.end or 0)
