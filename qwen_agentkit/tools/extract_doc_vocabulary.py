"""`extract_doc_vocabulary`: the words that stand out in documents."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.log import logger
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.documents import files_named_by_model, find_sources, load_records
from qwen_agentkit.utils.text import stopwords
from qwen_agentkit.utils.text.words_zh import cut_words

MAX_TERMS = 1000
_LATIN = re.compile(r"[^\W\d_](?:[\w.-]*\w)?")
_HAN = re.compile(r"[\u3400-\u9fff]+")


@register_tool("extract_doc_vocabulary")
class ExtractDocVocabulary(BaseTool):
    """Lists the terms of documents, those first that say most about them.

    A term's weight is how often it occurs times the logarithm of how few passages it occurs in (tf-idf).

    Args:
        cfg: `max_terms`, 1000.
    """

    description = "Lists the words and terms that stand out in documents."
    parameters = {
        "type": "object",
        "properties": {
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Paths or http(s) addresses of the documents.",
            }
        },
        "required": ["files"],
    }

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The terms, separated by commas. A file that cannot be read is left out, with a line in the log."""
        files = self._verify_json_format_args(params)["files"]
        if isinstance(params, str):
            files = files_named_by_model(files, list(kwargs.get("files") or []))
        sources = find_sources(files)
        records = load_records(sources, settings.DEFAULT_PARSER_PAGE_SIZE)
        for problem in sources.problems:
            logger.warning("extract_doc_vocabulary leaves out %s: %s", problem.file, problem.reason)
        passages = [chunk.content for record in records for chunk in record.raw]
        return ", ".join(vocabulary(passages, self.cfg.get("max_terms", MAX_TERMS)))


def vocabulary(passages: list[str], limit: int = MAX_TERMS) -> list[str]:
    """The terms of passages, by weight; case is folded, stop words and single letters left out."""
    occurrences: Counter[str] = Counter()
    in_passages: Counter[str] = Counter()
    for passage in passages:
        terms = _terms(passage)
        occurrences.update(terms)
        in_passages.update(set(terms))
    weights: Mapping[str, float] = {
        term: count * math.log(1 + len(passages) / in_passages[term]) for term, count in occurrences.items()
    }
    return sorted(weights, key=lambda term: (-weights[term], term))[:limit]


def _terms(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text)
    latin = [word.lower() for word in _LATIN.findall(_HAN.sub(" ", text))]
    chinese = [word for run in _HAN.findall(text) for word in cut_words(run)]
    words = [word for word in latin if word not in stopwords.ENGLISH]
    words += [word for word in chinese if word not in stopwords.CHINESE_QUESTION_WORDS]
    return [word for word in words if len(word) > 1]
