"""`VirtualMemoryAgent`: retrieves when its model asks for it, as often as it needs to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.agents.assistant import Assistant, knowledge_passages
from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.grounding import with_citations
from qwen_agentkit.agents.loop.turn import Resumption
from qwen_agentkit.events import OK
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import SYSTEM, USER, ContentItem, Message
from qwen_agentkit.system_message import appended
from qwen_agentkit.utils.knowledge import write_knowledge

DEFAULT_NAME = "Virtual Memory Agent"
DEFAULT_DESC = "Looks things up in documents and long conversations whenever an answer needs it."
RETRIEVAL = "retrieval"

_FILED = {
    "en": "What was found has been put into the system message above, under Knowledge Base.",
    "zh": "检索到的内容已放入上方系统消息的“知识库”中。",
}
_NOTHING = {"en": "Nothing was found.", "zh": "没有检索到相关内容。"}
_FILE = {"en": "[file]({name})", "zh": "[文件]({name})"}


@dataclass
class _Found:
    """What one run has retrieved, in the order of the calls."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class VirtualMemoryAgent(Assistant):
    """An assistant that does not retrieve by itself: its model calls the tool `retrieval`.

    What is found goes into the system message, and the call is answered by a note that says so: the conversation
    stays short, however often the model looks something up.

    Args:
        function_list: Tools beside `retrieval`.
        llm, system_message, name, description, files, rag_cfg: As for `Assistant`.
        **kwargs: As for `Assistant`.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = DEFAULT_NAME,
        description: str | None = DEFAULT_DESC,
        files: Sequence[str] | None = None,
        rag_cfg: dict | None = None,
        **kwargs: Any,
    ) -> None:
        self.retrieval_tool_name = RETRIEVAL
        super().__init__(
            [RETRIEVAL, *(function_list or [])],
            llm,
            system_message,
            name=name,
            description=description,
            files=files,
            rag_cfg=rag_cfg,
            **kwargs,
        )
        # The passages go into a block of their own; what stands as the result is this agent's note.
        if RETRIEVAL in self.function_map:
            self.function_map[RETRIEVAL].fenced = False

    def _run(
        self, messages: list[Message], lang: str = "en", knowledge: str | list[dict] = "", **kwargs: Any
    ) -> Iterator[list[Message]]:
        if knowledge:
            messages = appended(messages, write_knowledge(knowledge_passages(knowledge, lang), lang))
        saved = kwargs.get("resume_from")
        if isinstance(saved, Resumption):
            # What was found is not part of a saved turn: it is looked up again.
            turn = saved.turn(1)
            for call in [*turn.all_calls, *turn.calls]:
                if call.name == self.retrieval_tool_name and call.outcome == OK:
                    self._call_tool(call.name, call.arguments, messages=saved.conversation, lang=lang)
        response: list[Message] = []
        # Files are kept in what tools are given; the model is shown their names by `_call_llm`.
        for response in FnCallAgent._run(self, messages, lang=lang, **kwargs):
            yield response
        block = self._block(lang)
        if block and response:
            # Once more with the citations, which need the passages that were found on the way.
            *_, last = with_citations(iter([response]), [Message(SYSTEM, block)])
            yield last

    def _call_llm(
        self,
        messages: list[Message],
        functions: list[dict] | None = None,
        stream: bool = True,
        extra_generate_cfg: dict | None = None,
        response_format: Any = None,
    ) -> Iterator[list[Message]]:
        lang = (extra_generate_cfg or {}).get("lang", "en")
        sent = _with_file_names(messages, lang)
        block = self._block(lang)
        sent = appended(sent, block) if block else sent
        return super()._call_llm(sent, functions, stream, extra_generate_cfg, response_format)

    def _call_tool(self, tool_name: str, tool_args: str | dict = "{}", **kwargs: Any) -> str | list[ContentItem]:
        result = super()._call_tool(tool_name, tool_args, **kwargs)
        if tool_name != self.retrieval_tool_name or not isinstance(result, str):
            return result
        try:
            entries = json.loads(result)
        except ValueError:
            return result  # an error, which the model is to see
        if not isinstance(entries, list):
            return result
        language = "zh" if kwargs.get("lang") == "zh" else "en"
        texts = [entry for entry in entries if isinstance(entry, dict) and entry.get("text")]
        problems = [entry for entry in entries if entry not in texts]
        if texts:
            found = _found()
            with found.lock:
                found.entries += [entry for entry in texts if entry not in found.entries]
        note = (_FILED if texts else _NOTHING)[language]
        return f"{note}\n{json.dumps(problems, ensure_ascii=False)}" if problems else note

    @staticmethod
    def _block(lang: str) -> str:
        found = _found()
        with found.lock:
            return write_knowledge(knowledge_passages(list(found.entries), lang), lang)


def _found() -> _Found:
    run = current_run()
    return run.own("virtual_memory.found", _Found) if run is not None else _Found()


def _with_file_names(messages: list[Message], lang: str) -> list[Message]:
    """The conversation with files shown as text, so that the model can name them to the tool."""
    template = _FILE["zh" if lang == "zh" else "en"]
    shown = []
    for message in messages:
        if message.role == USER and isinstance(message.content, list):
            items = [ContentItem(text=template.format(name=i.file)) if i.file else i for i in message.content]
            message = message.model_copy(update={"content": items})
        shown.append(message)
    return shown
