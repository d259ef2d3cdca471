"""`BaseSearch`: what the searchers share. A searcher only says how well each chunk fits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.records import PLACE_KEYS, Chunk, Record, records_of
from qwen_agentkit.utils.tokenization_qwen import tokenizer

Scored = list[tuple[str, int, float]]
"""(record's url, chunk's place in the record, score), best first."""


class BaseSearch(BaseTool):
    """Finds the passages of documents that fit a question.

    Args:
        cfg: `max_ref_token`, the tokens of all passages together; `parser_page_size`, those of one chunk where
            texts have to be cut.
    """

    fenced = True
    description = "Finds the passages of the documents at hand that fit a question."
    parameters = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The question, or keywords in the languages of the documents."}
        },
        "required": ["query"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.max_ref_token: int = self.cfg.get("max_ref_token", settings.DEFAULT_MAX_REF_TOKEN)
        self.parser_page_size: int = self.cfg.get("parser_page_size", settings.DEFAULT_PARSER_PAGE_SIZE)

    def call(
        self,
        params: str | dict[str, Any],
        docs: Sequence[Record | Mapping[str, Any] | str | Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        """Searches `docs`.

        Args:
            params: `query`: a question, or JSON `{"keywords_zh": [...], "keywords_en": [...], "text": ...}`.
            docs: Records, texts, or lists of texts (the pages of one document).
            **kwargs: `max_ref_token` and `parser_page_size` in place of the tool's own.

        Returns:
            For each document that fits `{"url", "text": [...], "passages": [...]}`, in the order of the documents;
            `passages` says where each text stands. Everything when it fits into `max_ref_token`; the front parts
            when the query is empty or nothing matches; else the best chunks, in reading order.
        """
        query = self._verify_json_format_args(params)["query"]
        if not docs:
            return []
        max_ref_token = kwargs.get("max_ref_token", self.max_ref_token)
        records = records_of(docs, kwargs.get("parser_page_size", self.parser_page_size))
        records = [record for record in records if record.raw]
        words = query_text(query)
        if not words:
            return front_part(records, max_ref_token)
        if sum(chunk.token for record in records for chunk in record.raw) <= max_ref_token:
            return [found(record, range(len(record.raw))) for record in records]
        return self.search(words, records, max_ref_token)

    def search(self, query: str, docs: Sequence[Record], max_ref_token: int | None = None) -> list[dict[str, Any]]:
        """The best chunks within the budget (None is the tool's own), or the front parts when nothing fits."""
        if max_ref_token is None:
            max_ref_token = self.max_ref_token
        scored = self.sort_by_scores(query, docs, max_ref_token=max_ref_token)
        if not scored or scored[0][2] <= 0:
            return front_part(docs, max_ref_token)
        return best_within(scored, docs, max_ref_token)

    @abstractmethod
    def sort_by_scores(self, query: str, docs: Sequence[Record], **kwargs: Any) -> Scored:
        """How well chunks fit.

        Args:
            query: Plain text.
            docs: Records with unique addresses.
            **kwargs: `max_ref_token`.

        Returns:
            (address, number of the chunk, score), best first; 0 is no fit. Chunks may be left out.
        """


def query_text(query: str) -> str:
    """The words of a query: keywords of a JSON query before its question, any other text as it is."""
    text = query.strip()
    if not text.startswith("{"):
        return text
    from qwen_agentkit.llm.arguments import read_json

    try:
        held = read_json(text, objects_only=True).value
    except ValueError:
        return text
    if not isinstance(held, dict):
        return text
    words: list[str] = []
    for key in ("keywords", "keywords_zh", "keywords_en"):
        values = held.get(key) or []
        words += [str(value) for value in (values if isinstance(values, list) else [values])]
    if isinstance(held.get("text"), str):
        words.append(held["text"])
    return " ".join(words).strip() if words else text


def best_within(scored: Scored, docs: Sequence[Record], max_ref_token: int) -> list[dict[str, Any]]:
    """The best chunks that fit into the budget, the last one cut to fit; each document's in reading order."""
    by_url = {record.url: record for record in docs}
    chosen: dict[str, dict[int, str | None]] = {record.url: {} for record in docs}
    scores: dict[tuple[str, int], float] = {}
    left = max_ref_token
    for url, number, score in scored:
        if left <= 0 or score <= 0:
            break
        if number in chosen[url]:
            continue
        chunk = by_url[url].raw[number]
        scores[url, number] = score
        if chunk.token > left:
            chosen[url][number] = tokenizer.truncate(chunk.content, max_token=left)
            break
        chosen[url][number] = None
        left -= chunk.token
    return [
        found(record, sorted(chosen[record.url]), chosen[record.url], scores) for record in docs if chosen[record.url]
    ]


def front_part(docs: Sequence[Record], max_ref_token: int) -> list[dict[str, Any]]:
    """The beginning of each document, the budget shared evenly."""
    parts: list[dict[str, Any]] = []
    for record in docs:
        left = max_ref_token // len(docs)
        numbers: list[int] = []
        texts: dict[int, str | None] = {}
        for number, chunk in enumerate(record.raw):
            if left <= 0:
                break
            numbers.append(number)
            texts[number] = None if chunk.token <= left else tokenizer.truncate(chunk.content, max_token=left)
            left -= chunk.token
        parts.append(found(record, numbers, texts))
    return parts


def found(
    record: Record,
    numbers: Sequence[int] | range,
    texts: Mapping[int, str | None] | None = None,
    scores: Mapping[tuple[str, int], float] | None = None,
) -> dict[str, Any]:
    """Chunks of one document in the shape of the retrieval tool."""
    shown = []
    passages = []
    for number in numbers:
        chunk = record.raw[number]
        text = (texts or {}).get(number)
        shown.append(chunk.content if text is None else text)
        score = (scores or {}).get((record.url, number))
        passages.append(_place(record, chunk, text, score))
    return {"url": record.url, "text": shown, "passages": passages}


def _place(record: Record, chunk: Chunk, cut: str | None, score: float | None) -> dict[str, Any]:
    place: dict[str, Any] = {key: chunk.metadata.get(key) for key in PLACE_KEYS}
    is_plain = place["start"] is not None and place["end"] - place["start"] == len(chunk.content)
    # A chunk that repeats a table's header is no plain stretch of the text: cut short, it keeps its end.
    if cut is not None and is_plain:
        place["end"] = place["start"] + len(cut)
    finite = score is not None and score != float("inf")
    return {**place, "score": score if finite else None, "title": record.title or None}
