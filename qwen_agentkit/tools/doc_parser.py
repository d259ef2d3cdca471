"""`doc_parser`: a document as a list of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.records import Chunk, Record, record_of_chunks
from qwen_agentkit.utils.paths import allowed_path

__all__ = ["Chunk", "DocParser", "Record"]


@register_tool("doc_parser")
class DocParser(BaseTool):
    """Reads a document and cuts it into chunks.

    Args:
        cfg: `max_ref_token`: a document of at most so many tokens is one chunk. `parser_page_size`: the most
            tokens of a chunk of a longer one. `path`: folder of the cache, the workspace's by default.
    """

    description = "Reads a document and gives its text in chunks, each with its place."
    parameters = {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Path or address of the document."}},
        "required": ["url"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.max_ref_token: int = self.cfg.get("max_ref_token", settings.DEFAULT_MAX_REF_TOKEN)
        self.parser_page_size: int = self.cfg.get("parser_page_size", settings.DEFAULT_PARSER_PAGE_SIZE)

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], files: Sequence[str] = (), **kwargs: Any) -> dict[str, Any]:
        """Reads one document.

        Args:
            params: `url`. One that a model names (params as text) must be a file of the agent or lie under its
                roots.
            files: The agent's files.
            **kwargs: `max_ref_token`, `parser_page_size` in place of the tool's own.

        Returns:
            `{"url", "title", "raw": [{"content", "token", "metadata": {"source", "title", "chunk_id", ...}}]}`.

        Raises:
            DocParserError: The document cannot be read.
        """
        from qwen_agentkit.rag.cache import DocumentCache
        from qwen_agentkit.rag.library import Library

        url = self._verify_json_format_args(params)["url"]
        path = url
        if isinstance(params, str) and "://" not in url:
            path = str(allowed_path(url, files))
        folder = self.cfg.get("path")
        library = Library(DocumentCache(folder) if folder else None)
        size = kwargs.get("parser_page_size", self.parser_page_size)
        shelf = library.shelf([path], size)
        for problem in shelf.problems:
            raise DocParserError(message=f"{url} could not be read: {problem['reason']}")
        chunks = next(iter(shelf.chunks.values()), [])
        record = record_of_chunks(url, chunks[0].title if chunks else "", chunks)
        if sum(chunk.token for chunk in record.raw) <= kwargs.get("max_ref_token", self.max_ref_token):
            record = _whole(record)
        return record.to_dict()


def _whole(record: Record) -> Record:
    """The record with all its chunks as one."""
    if len(record.raw) < 2:
        return record
    first = record.raw[0]
    metadata = {key: first.metadata[key] for key in ("source", "title", "chunk_id") if key in first.metadata}
    text = "\n".join(chunk.content for chunk in record.raw)
    return Record(record.url, [Chunk(text, metadata)], record.title)
