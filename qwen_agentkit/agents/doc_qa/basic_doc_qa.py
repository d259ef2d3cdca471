"""`DocQAAgent`: answers from documents and nothing else, with one model call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit.agent import wanted_form
from qwen_agentkit.agents.assistant import Assistant
from qwen_agentkit.agents.grounding import with_citations
from qwen_agentkit.schema import Message
from qwen_agentkit.system_message import with_system_message

INSTRUCTION = {
    "en": "Answer the question from the knowledge base below and from nothing else. Put the number of the passage "
    "behind each statement, as in [1]. Answer in the language of the question. If the knowledge base does not hold the "
    "answer, say that the documents do not say.",
    "zh": "请只根据下面的知识库回答问题，不要使用其他知识。每个论断之后注明段落编号，例如 [1]。"
    "请使用提问所用的语言作答。如果知识库中没有答案，请说明文档中没有提到。",
}


class DocQAAgent(Assistant):
    """Answers questions about documents: retrieve, then one model call, then check the citations.

    Args: As for `Assistant`; it has a name and a description by default, and calls no tools.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = "DocQA",
        description: str | None = "Answers questions from given documents, with citations.",
        files: Sequence[str] | None = None,
        rag_cfg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, system_message, name, description, files, rag_cfg, **kwargs)

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        instructed = with_system_message(messages, INSTRUCTION["zh" if lang == "zh" else "en"])
        prepared = self._prepend_knowledge_prompt(instructed, lang, knowledge, **kwargs)
        settings = {"lang": lang, **({"seed": kwargs["seed"]} if kwargs.get("seed") is not None else {})}
        yield from with_citations(self._call_llm(prepared, extra_generate_cfg=settings, **wanted_form()), prepared)
        self._keep_files(messages)


BasicDocQA = DocQAAgent
DocQA = DocQAAgent
