"""`retrieval`: the passages of files that fit a question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.documents import SUPPORTED_FILE_TYPES, files_named_by_model
from qwen_agentkit.tools.records import record_of_hits
from qwen_agentkit.tools.registry import TOOL_REGISTRY
from qwen_agentkit.tools.search_tools.base_search import BaseSearch

if TYPE_CHECKING:
    from qwen_agentkit.rag.knowledge_base import KnowledgeBase

# Searchers that work on the index.
INDEXED = frozenset({"keyword_search", "front_page_search"})


class Found(list):
    """What was found, a plain list otherwise.

    Attributes:
        problems: Files that could not be read, `{"file", "reason"}` each.
    """

    def __init__(self, entries: Sequence[dict[str, Any]] = (), problems: Sequence[dict[str, str]] = ()) -> None:
        super().__init__(entries)
        self.problems: list[dict[str, str]] = list(problems)


@register_tool("retrieval")
class Retrieval(BaseTool):
    """Reads files (once) and searches them.

    Args:
        cfg: `max_ref_token`: tokens of all passages together; files of no more tokens are given whole.
            `parser_page_size`: tokens of a chunk. `rag_searchers`: names of search tools, fused where there are
            several; `keyword_search` and `front_page_search` work on an index that is made once. `embedder`,
            `reranker`, `store`: of that index. The rest goes to other searchers.

    Raises:
        ValueError: A searcher is not registered.
    """

    fenced = True
    description = (
        "Finds the passages of files that fit a question. Reads " + ", ".join(SUPPORTED_FILE_TYPES) + " and others."
    )
    parameters = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The question, or keywords, in each language that the files may be written in.",
            },
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Paths or http(s) addresses of the files; without it, all files at hand.",
            },
        },
        "required": ["query"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.max_ref_token: int = self.cfg.get("max_ref_token", settings.DEFAULT_MAX_REF_TOKEN)
        self.parser_page_size: int = self.cfg.get("parser_page_size", settings.DEFAULT_PARSER_PAGE_SIZE)
        self.rag_searchers: list[str] = list(self.cfg.get("rag_searchers") or settings.DEFAULT_RAG_SEARCHERS)
        unknown = [name for name in self.rag_searchers if name not in TOOL_REGISTRY]
        if unknown:
            raise ValueError(f"rag_searchers are names of registered searchers, not {unknown}")
        self.search = self._searcher() if set(self.rag_searchers) - INDEXED else None

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> Found:
        """Searches.

        Args:
            params: `query` and `files`. In JSON text, which is what a model writes, only files that it may read.
            **kwargs: `files`, those of the agent and the conversation, searched when `params` names none;
                `file_sets`, lists of files that each have an index of their own; `max_ref_token` and
                `parser_page_size` in place of the tool's own.

        Returns:
            `[{"url": source, "text": [...], "passages": [{"page", "section", ...}]}]`, one for each file that fits,
            with `.problems` for the files that could not be read. To a model these are entries too, with `problem`
            in place of text.
        """
        from qwen_agentkit.rag.retrieval import retrieve

        arguments = self._verify_json_format_args(params)
        at_hand = list(kwargs.get("files") or [])
        files = _file_list(arguments.get("files")) or at_hand
        if isinstance(params, str):
            files = files_named_by_model(files, at_hand)
        sets = kwargs.get("file_sets") or [files]
        page_size = kwargs.get("parser_page_size", self.parser_page_size)
        budget = kwargs.get("max_ref_token", self.max_ref_token)
        bases, problems = self._bases([list(names) for names in sets if names], page_size)
        if self.search is None:
            entries = retrieve(arguments["query"], bases, budget, self.rag_searchers)
        else:
            records = [record_of_hits(source, base.passages(source)) for base in bases for source in base.sources]
            entries = self.search.call({"query": arguments["query"]}, docs=records, max_ref_token=budget)
        if isinstance(params, str):
            entries = [*entries, *({"url": p["file"], "text": [], "problem": p["reason"]} for p in problems)]
        return Found(entries, problems)

    def prepare(self, files: Sequence[str]) -> list[dict[str, str]]:
        """Reads files ahead, so that the first question need not wait for them.

        Returns:
            Those that could not be read, `{"file", "reason"}` each.
        """
        _, problems = self._bases([list(files)] if files else [], self.parser_page_size)
        return problems

    def _bases(
        self, file_sets: Sequence[Sequence[str]], page_size: int
    ) -> tuple[list[KnowledgeBase], list[dict[str, str]]]:
        """The bases of sets of files, as the files are now, and what cannot be read."""
        from qwen_agentkit.rag.knowledge_base import knowledge_base

        options = {name: self.cfg.get(name) for name in ("embedder", "reranker", "store")}
        bases, problems = [], {}
        for files in file_sets:
            base = knowledge_base(files, page_size, **options)
            for problem in base.refresh():
                reason = problem.reason.removeprefix(f"{problem.source}: ")
                problems[problem.source] = {"file": problem.source, "reason": reason}
            bases.append(base)
        return bases, list(problems.values())

    def _searcher(self) -> BaseSearch:
        """The search tool for searchers that work on documents in memory."""
        name = self.rag_searchers[0] if len(self.rag_searchers) == 1 else "hybrid_search"
        cfg = {key: value for key, value in self.cfg.items() if key != "name"}
        sizes = {"max_ref_token": self.max_ref_token, "parser_page_size": self.parser_page_size}
        return TOOL_REGISTRY[name]({**cfg, **sizes, "rag_searchers": self.rag_searchers})


def _file_list(files: Any) -> list[str]:
    if files is None:
        return []
    if isinstance(files, str):
        try:
            read = json.loads(files)
        except ValueError:
            read = files
        files = read if isinstance(read, list) else [files]
    if not isinstance(files, (list, tuple)) or not all(isinstance(file, str) for file in files):
        raise ToolArgumentsError(f"retrieval: files is a list of paths and addresses, not {files!r}")
    return [file for file in files if file.strip()]
