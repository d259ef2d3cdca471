"""`extractive`: a chat model that needs no key and no network: it quotes the documents in its prompt.

It writes nothing of its own. It answers the last user message with the sentences that answer it best from the
knowledge block of the prompt, each with the number of its citation, or says that the documents do not answer it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.llm.base import BaseChatModel, register_llm
from qwen_agentkit.llm.delta import Delta
from qwen_agentkit.llm.media import without_announcement
from qwen_agentkit.llm.request import ModelRequest
from qwen_agentkit.schema import SYSTEM, USER
from qwen_agentkit.utils.knowledge import Passage, quote_of, read_knowledge, strip_knowledge
from qwen_agentkit.utils.language import has_chinese
from qwen_agentkit.utils.message_text import text_of

_DECLINED = {"en": "The documents do not answer this question.", "zh": "文档中没有回答这个问题的内容。"}
_NO_DOCUMENTS = {
    "en": "There are no documents to quote from. This model writes nothing of its own.",
    "zh": "没有可供引用的文档。这个模型不会自行撰写内容。",
}
_SPACES = re.compile(r"\s+")
_HAN_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")


@register_llm("extractive")
class ExtractiveChat(BaseChatModel):
    """Quotes the best sentences of the knowledge in its prompt.

    Args:
        cfg: `generate_cfg.max_quotes` is the most sentences of an answer, 3.

    The answer's `extra` has `answered` (False: nothing fits), `citations`, numbered as in the text, and in
    `model_service_info` the fact that it quotes.
    """

    model = "extractive"
    native_tools = True  # tools in the prompt would only be in the way: this model calls none

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        question = next((text_of(message) for message in reversed(request.messages) if message.role == USER), "")
        passages = [
            passage
            for message in request.messages
            if message.role in (SYSTEM, USER)
            for passage in read_knowledge(text_of(message))
        ]
        question = strip_knowledge(without_announcement(question))
        lang = "zh" if has_chinese(question) else "en"
        if not passages:
            yield Delta(text=_NO_DOCUMENTS[lang], extra={"answered": False}, finish_reason="stop")
            return
        most = request.generate_cfg.get("max_quotes", 3)
        text, citations = quoted(question, passages, most)
        if not citations:
            yield Delta(text=_DECLINED[lang], extra={"answered": False}, finish_reason="stop")
            return
        for line in text.splitlines(keepends=True):
            yield Delta(text=line)
        extra = {"answered": True, "citations": citations, "unsupported": []}
        yield Delta(extra=extra, info={"model": self.model, "quotes": True}, finish_reason="stop")


def quoted(question: str, passages: list[Passage], most: int = 3) -> tuple[str, list[dict[str, Any]]]:
    """The answer in quotes.

    Args:
        question: The question.
        passages: What may be quoted.
        most: Sentences at most.

    Returns:
        The sentences, one a line with the number of its citation behind it, and the citations; both empty when
        nothing fits.
    """
    from qwen_agentkit.utils.text.answer import best_sentences

    answer = best_sentences(question, passages, limit=most)
    if not answer.answered:
        return "", []
    by_number = {passage.n: passage for passage in passages}
    lines, citations = [], []
    for n, sentence in enumerate(answer.sentences, 1):
        passage = by_number[sentence.n]
        citations.append(quote_of(passage, sentence.start, sentence.end, n=n, score=round(sentence.score, 4)))
        lines.append(f"{_one_line(sentence.text)} [{n}]")
    return "\n".join(lines), citations


def _one_line(text: str) -> str:
    """A sentence without the line breaks of its page; between Chinese characters nothing takes their place."""
    return _SPACES.sub(" ", _HAN_BREAK.sub("", text)).strip()
