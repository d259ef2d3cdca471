"""An assistant over the files of the command line, with everything read before the first question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qwen_agentkit.agents import Assistant
from qwen_agentkit.cli.model_options import is_extractive
from qwen_agentkit.cli.progress import reading
from qwen_agentkit.cli.sources import Problem, Sources, find_sources
from qwen_agentkit.cli.status import WrongUse
from qwen_agentkit.cli.terminal import say
from qwen_agentkit.errors import DocParserError
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.workers import read_documents
from qwen_agentkit.tools.documents import document_cache

if TYPE_CHECKING:
    from qwen_agentkit.rag.explain import Explanation
    from qwen_agentkit.rag.index import DocumentIndex
    from qwen_agentkit.rag.knowledge_base import KnowledgeBase

# Passages that --explain speaks of.
_EXPLAINED = 5


@dataclass
class Opened:
    """An assistant and what it reads.

    Args:
        agent: The assistant.
        sources: The files.
        unread: Why each file that could not be read was not.
        index: The index that it answers from in place of files.
    """

    agent: Assistant
    sources: Sources
    unread: dict[str, str] = field(default_factory=dict)
    index: DocumentIndex | None = None

    @property
    def documents(self) -> list[str]:
        """What it can read, as the user named it."""
        if self.index is not None:
            return [entry["source"] for entry in self.index.sources()]
        return [self.sources.show(file) for file in self.sources.files]

    def explain(self, question: str) -> list[Explanation]:
        """How the passages that fit a question best came to their scores. A model's own search words do not count."""
        base = self._base()
        return [base.explain(hit) for hit in base.search(question, _EXPLAINED)]

    def _base(self) -> KnowledgeBase:
        if self.index is not None:
            from qwen_agentkit.rag.existing_index import ExistingIndex

            return ExistingIndex(self.index)
        from qwen_agentkit.rag.knowledge_base import knowledge_base

        base = knowledge_base(self.agent.mem.system_files, self.agent.mem.parser_page_size)
        base.refresh()
        return base

    @property
    def problems(self) -> list[Problem]:
        """What could not be read so far, named as the user named it."""
        found = self.unread | {problem["file"]: problem["reason"] for problem in self.agent.mem.problems}
        shown = [{"file": self.sources.show(file), "reason": reason} for file, reason in found.items()]
        return [*self.sources.problems, *shown]


def open_assistant(given: Sequence[str], config: dict[str, Any]) -> Opened:
    """Makes an assistant over files, and reads them; files that cannot be read are said on standard error.

    Args:
        given: Files, folders and addresses, as the user wrote them; none is fine.
        config: The model's configuration.

    Raises:
        WrongUse: The configuration names no usable model, or files were given and none can be read.
    """
    sources = find_sources(given)
    for problem in sources.problems:
        _say_problem(problem)
    if given and not sources.files:
        raise WrongUse("there is no file to read")
    opened = Opened(_assistant(config, sources.files), sources)
    if sources.files:
        _read(opened)
    return opened


def open_indexed(index: DocumentIndex, config: dict[str, Any]) -> Opened:
    """Makes an assistant that answers from an index.

    Args:
        index: The index; it is to stay open.
        config: The model's configuration.

    Raises:
        WrongUse: The configuration names no usable model, or the index is empty.
    """
    from qwen_agentkit.memory import IndexMemory

    if not index.totals()["documents"]:
        raise WrongUse(f"the index {index.path} is empty; fill it with: qwen-agentkit index add FILES")
    agent = _assistant(config, [])
    agent.mem = IndexMemory(index, llm=agent.llm)
    return Opened(agent, Sources(), index=index)


def _assistant(config: dict[str, Any], files: list[str]) -> Assistant:
    try:
        return Assistant(llm=config, files=files)
    except ValueError as error:
        if is_extractive(config) or config.get("model_server"):
            raise WrongUse(str(error)) from error
        raise WrongUse(
            f"the model {config['model']} is not known by its name alone; name its server with --model-server. {error}"
        ) from error


def _read(opened: Opened) -> None:
    """Reads the files into the cache that the assistant's memory answers from."""
    # What was fetched from an address is read when the memory is asked.
    files = [file for file in opened.sources.files if os.path.isabs(file)]
    with reading() as progress:
        for file, result in read_documents(files, cache=document_cache(), progress=progress):
            reason = _reason(file, result)
            if reason:
                opened.unread[file] = reason
                _say_problem({"file": opened.sources.show(file), "reason": reason})
    if len(opened.unread) == len(opened.sources.files):
        raise WrongUse("none of the files can be read")


def _reason(file: str, result: Document | DocParserError) -> str | None:
    """Why there is nothing to find in a file, None where there is."""
    if isinstance(result, DocParserError):
        return (result.message or type(result).__name__).removeprefix(f"{file}: ")
    if not result.blocks:
        return "; ".join(result.warnings) or "there is no text in it"
    return None


def _say_problem(problem: Problem) -> None:
    say(f"{problem['file']}: {problem['reason']}")
