"""`retrieval`: the passages of documents that a question asks for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.utils.paths import allowed_path

if TYPE_CHECKING:
    from qwen_agentkit.rag.retrieval import Retrieved, Retriever


@register_tool("retrieval")
class Retrieval(BaseTool):
    """Finds passages in documents.

    Args:
        cfg: `max_ref_token` (tokens of all passages together), `parser_page_size` (tokens of one), `rag_searchers`
            (names of the ways to search).
    """

    description = "Finds the passages of documents that a question asks for, with file and page."
    parameters = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The question, or what to look for."},
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Paths or addresses of the documents.",
            },
        },
        "required": ["query"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.max_ref_token: int = self.cfg.get("max_ref_token", settings.DEFAULT_MAX_REF_TOKEN)
        self.parser_page_size: int = self.cfg.get("parser_page_size", settings.DEFAULT_PARSER_PAGE_SIZE)
        self.rag_searchers: list[str] = self.cfg.get("rag_searchers") or settings.DEFAULT_RAG_SEARCHERS
        self._lock = threading.Lock()
        self._retriever: Retriever | None = None

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], files: Sequence[str] = (), **kwargs: Any) -> Retrieved:
        """Searches documents.

        Args:
            params: `query`, and `files`. Those that a model names (params as text) must be files of the agent or
                lie under its roots.
            files: The agent's files; searched when `params` names none.
            **kwargs: `max_ref_token`, `parser_page_size`, `rag_searchers` in place of the tool's own.

        Returns:
            A list of `{"url", "text": [...], "passages": [...]}`, one a document; `passages` says for each text
            where it stands. [] without files. Its `problems` names files that could not be read.
        """
        from qwen_agentkit.rag.retrieval import Retrieved

        arguments = self._verify_json_format_args(params)
        named = list(arguments.get("files") or [])
        if isinstance(params, str):
            named = [name if "://" in name else str(allowed_path(name, files)) for name in named]
        wanted = named or list(files)
        if not wanted:
            return Retrieved()
        return self._documents().retrieve(
            arguments["query"],
            wanted,
            max_ref_token=kwargs.get("max_ref_token", self.max_ref_token),
            chunk_tokens=kwargs.get("parser_page_size", self.parser_page_size),
            searchers=kwargs.get("rag_searchers", self.rag_searchers),
        )

    def prepare(self, files: Sequence[str]) -> list[dict[str, str]]:
        """Reads and indexes files ahead of a question; returns `{"file", "reason"}` for those that cannot be read."""
        return self._documents().prepare(files, self.parser_page_size)

    def _documents(self) -> Retriever:
        with self._lock:
            if self._retriever is None:
                from qwen_agentkit.rag.retrieval import Retriever

                self._retriever = Retriever()
            return self._retriever

    def __deepcopy__(self, memo: dict[int, Any]) -> Retrieval:
        return type(self)(self.cfg)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy reads for itself
        return type(self), (self.cfg,)
