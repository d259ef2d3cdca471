"""`doc_parser`: a document cut into chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.documents import SUPPORTED_FILE_TYPES, one_document
from qwen_agentkit.tools.records import Chunk, Record, record_of_chunks

__all__ = ["Chunk", "DocParser", "Record"]


@register_tool("doc_parser")
class DocParser(BaseTool):
    """Reads a document and cuts it into chunks.

    Args:
        cfg: `max_ref_token`: a document of no more tokens stays in one piece; `parser_page_size`: tokens of a chunk
            otherwise. What was read is kept by content, so neither setting can give another's chunks.
    """

    fenced = True
    description = f"Reads a document ({', '.join(SUPPORTED_FILE_TYPES)} and others) and gives its text in chunks."
    parameters = {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Path or http(s) address of the document."}},
        "required": ["url"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.max_ref_token: int = self.cfg.get("max_ref_token", settings.DEFAULT_MAX_REF_TOKEN)
        self.parser_page_size: int = self.cfg.get("parser_page_size", settings.DEFAULT_PARSER_PAGE_SIZE)

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """The document as a dict.

        Args:
            params: `url`. In JSON text, which is what a model writes, only files that it may read.
            **kwargs: `max_ref_token` and `parser_page_size` in place of the tool's own.

        Returns:
            `{"url", "title", "raw": [{"content", "token", "metadata": {"source", "title", "chunk_id", ...}}]}`.

        Raises:
            DocParserError: It cannot be read.
        """
        url = self._verify_json_format_args(params)["url"]
        document = one_document(url, kwargs, named_by_model=isinstance(params, str))
        max_ref_token = kwargs.get("max_ref_token", self.max_ref_token)
        page_size = kwargs.get("parser_page_size", self.parser_page_size)
        text = document.text
        whole = Chunk(text, {"source": url, "title": document.title, "chunk_id": 0})
        if whole.token <= max_ref_token:
            return Record(url, [whole], document.title).to_dict()
        from qwen_agentkit.rag.chunking import chunk_document

        chunks = chunk_document(document, chunk_tokens=page_size)
        return record_of_chunks(url, document.title, chunks).to_dict()
