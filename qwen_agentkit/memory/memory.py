"""`Memory`: finds the passages of an agent's documents that a conversation asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.agent import Agent
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import MemoryRetrieved
from qwen_agentkit.log import logger
from qwen_agentkit.memory.keyword_model import keyword_model, within_window
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ASSISTANT, USER, Message
from qwen_agentkit.utils.message_files import file_list, files_of
from qwen_agentkit.utils.message_text import text_of

if TYPE_CHECKING:
    from qwen_agentkit.tools.retrieval import Found

# What `rag_cfg` may hold; another key is a mistake that would otherwise go unseen.
RAG_KEYS = (
    "max_ref_token",
    "parser_page_size",
    "rag_searchers",
    "rag_keygen_strategy",
    "llm",
    "embedder",
    "reranker",
    "store",
    "knowledge_in",
    "knowledge_mode",
)
# One for all memories: an object that holds a lock could be neither copied nor pickled.
_LOCK = threading.Lock()
# Conversation files that are remembered as unreadable, newest last.
_MOST_PROBLEMS = 100


class Memory(Agent):
    """Retrieval over documents: those given here, and the `file` items of the conversation.

    Args:
        function_list, llm, system_message: As for `Agent`. The model is used for search words only.
        files: Paths, folders, globs, addresses.
        rag_cfg: `max_ref_token` (tokens of passages to return: 20000, and at most half of the model's window),
            `parser_page_size` (tokens of a chunk, 500), `rag_searchers` (names, `["keyword_search",
            "front_page_search"]`), `rag_keygen_strategy` (name of a strategy in
            `agents.keygen_strategies`, or `"none"`), `llm` (another model for the search words), `embedder`,
            `reranker`, `store` (see `rag.DocumentIndex`), `knowledge_in` (`"system"`, fenced and last, or `"user"`),
            `knowledge_mode` (`"inject"`; `"tool"`: the model searches itself; `"both"`).

    Attributes:
        system_files: The files given here.
        problems: Files that could not be read, `{"file", "reason"}` each; a file leaves the list when it can.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        files: Sequence[str] | None = None,
        rag_cfg: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.cfg = dict(rag_cfg or {})
        unknown = set(self.cfg) - set(RAG_KEYS)
        if unknown:
            raise ValueError(f"rag_cfg has no {', '.join(sorted(unknown))}; it has {', '.join(RAG_KEYS)}")
        for key, known in (("knowledge_in", ("system", "user")), ("knowledge_mode", ("inject", "tool", "both"))):
            if self.cfg.get(key, known[0]) not in known:
                raise ValueError(f"rag_cfg[{key!r}] is one of {', '.join(known)}, not {self.cfg[key]!r}")
        from qwen_agentkit.rag.chunking import MIN_CHUNK_TOKENS

        sizes = {"max_ref_token": settings.DEFAULT_MAX_REF_TOKEN, "parser_page_size": settings.DEFAULT_PARSER_PAGE_SIZE}
        for key, fewest in (("max_ref_token", 0), ("parser_page_size", MIN_CHUNK_TOKENS)):
            tokens = self.cfg.get(key)
            if tokens is None:
                continue
            if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < fewest:
                raise ValueError(f"rag_cfg[{key!r}] is a whole number of tokens, {fewest} or more, not {tokens!r}")
            sizes[key] = tokens
        if isinstance(self.cfg.get("rag_searchers"), str):
            raise ValueError(f"rag_cfg['rag_searchers'] is a list of names, not {self.cfg['rag_searchers']!r}")
        self.max_ref_token: int = within_window(sizes["max_ref_token"], llm)
        self.parser_page_size: int = sizes["parser_page_size"]
        self.rag_searchers = self.cfg.get("rag_searchers") or settings.DEFAULT_RAG_SEARCHERS
        self.rag_keygen_strategy = self.cfg.get("rag_keygen_strategy", settings.DEFAULT_RAG_KEYGEN_STRATEGY)
        if "rag_keygen_strategy" in self.cfg:
            self._strategy()  # a name that is none is told here, not at the first question
        tool_cfg = {
            key: self.cfg[key] for key in ("embedder", "reranker", "store") if self.cfg.get(key) is not None
        } | {
            "max_ref_token": self.max_ref_token,
            "parser_page_size": self.parser_page_size,
            "rag_searchers": self.rag_searchers,
        }
        super().__init__(
            [{"name": "retrieval", **tool_cfg}, {"name": "doc_parser", **tool_cfg}, *(function_list or ())],
            llm=self.cfg.get("llm") or keyword_model(llm),
            system_message=system_message,
            **kwargs,
        )
        self.system_files = file_list(files)
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> list[dict[str, str]]:
        with _LOCK:
            return [{"file": file, "reason": reason} for file, reason in self._problems.items()]

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        """Yields one message, `name="memory"`: the passages as JSON, or "" when there are no files.

        The JSON is a list of `{"url", "text": [...], "passages": [...]}`, one a document.
        """
        from qwen_agentkit.utils.text.question import is_small_talk

        files = self.get_rag_files(messages)
        question = next((text_of(message) for message in reversed(messages) if message.role == USER), "")
        if not files or is_small_talk(question):
            yield [Message(ASSISTANT, "", name="memory")]
            return
        query = self._query(question, messages, lang, files)
        found = self.find(query, files, **kwargs)
        run = current_run()
        if run is not None:
            # The agent that asked tells its model, in this run and no other.
            (run.parent or run).own("memory.problems", list).extend(found.problems)
            passages = [
                {"source": entry["url"], "text": text, **place}
                for entry in found
                for text, place in zip(entry["text"], entry.get("passages") or [{}] * len(entry["text"]), strict=False)
            ]
            run.emit(MemoryRetrieved, query=query, passages=passages)
        yield [Message(ASSISTANT, json.dumps(list(found), ensure_ascii=False), name="memory")]

    def find(self, query: str, files: Sequence[str], **kwargs: Any) -> Found:
        """Searches files, those of the memory and those of a conversation each on an index of their own.

        Args:
            query: What to search for.
            files: As `get_rag_files` gives them.
            **kwargs: `max_ref_token`, `parser_page_size`; anything else is left to the tool.

        Returns:
            What the `retrieval` tool gives.
        """
        sets = [self.system_files, [file for file in files if file not in self.system_files]]
        found = self.function_map["retrieval"].call(
            {"query": query, "files": list(files)}, file_sets=[one for one in sets if one], **kwargs
        )
        self._note_problems(found.problems, files)
        return found

    def get_rag_files(self, messages: list[Message]) -> list[str]:
        """The files to search: those of the memory and every `file` item of the conversation, each once."""
        return list(dict.fromkeys([*self.system_files, *files_of(messages)]))

    def extend_files(self, files: Sequence[str], conversation: Sequence[Message] | None = None) -> None:
        """Takes further documents in.

        Args:
            files: Paths or addresses.
            conversation: The messages that brought them. They are then only read and indexed ahead, for the next
                turn of that conversation, whose messages name them again; they do not become files of this
                memory, which other conversations share. None: they do.
        """
        new = [file for file in dict.fromkeys(file_list(files)) if file not in self.system_files]
        if not new:
            return
        if conversation is None:
            with _LOCK:
                self.system_files = [*self.system_files, *new]
        prepare = getattr(self.function_map["retrieval"], "prepare", None)
        if prepare is not None:
            of_conversation = [file for file in files_of(conversation or ()) if file not in self.system_files]
            self._note_problems(prepare(of_conversation if conversation is not None else self.system_files), new)

    def _note_problems(self, problems: Sequence[dict[str, str]], files: Sequence[str]) -> None:
        with _LOCK:
            for file in files:
                self._problems.pop(file, None)
            for problem in problems:
                self._problems[problem["file"]] = problem["reason"]
            for file in list(self._problems)[:-_MOST_PROBLEMS]:
                del self._problems[file]
        run = current_run()
        for problem in problems:
            text = f"{problem['file']} could not be read: {problem['reason']}"
            if run is not None:
                run.warn(text, **problem)
            else:
                logger.warning(text)

    def _strategy(self) -> str | None:
        """The name of what makes search words of a question; None for "none"."""
        strategy = str(self.rag_keygen_strategy or "none")
        if strategy.lower() == "none":
            return None
        from qwen_agentkit.agents import keygen_strategies

        if strategy not in keygen_strategies.__all__:
            known = ", ".join(keygen_strategies.__all__)
            raise ValueError(f"rag_keygen_strategy is 'none' or one of {known}, not {strategy!r}")
        return strategy

    def _query(self, question: str, messages: list[Message], lang: str, files: list[str]) -> str:
        """What to search for: the question, with a model's search words beside it where a strategy is set."""
        strategy = self._strategy()
        if self.llm is None or strategy is None or not question.strip():
            return question
        from qwen_agentkit.agents import keygen_strategies
        from qwen_agentkit.agents.keygen_strategies.words import keywords_of

        agent = getattr(keygen_strategies, strategy)(llm=self.llm)
        try:
            reply = agent.run_nonstream([Message(USER, question)], lang=lang, files=files)
        except ModelServiceError as error:
            logger.warning("No search words from the model, the question itself is searched for (%s)", error)
            return question
        words = keywords_of(reply[-1].content) if reply else []
        if not words:
            return question
        return json.dumps({"keywords": words, "text": question}, ensure_ascii=False)
