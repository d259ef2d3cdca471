"""`FnCallAgent`: the loop that lets a model use tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.loop.limit import closing_request, limit_answer, model_call_limit
from qwen_agentkit.agents.loop.tool_round import ToolCall, run_calls
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.utils.ids import new_call_id

if TYPE_CHECKING:
    from qwen_agentkit.memory import Memory

# A program may assign its own number here, as Qwen-Agent programs do; None leaves it to the settings.
MAX_LLM_CALL_PER_RUN: int | None = None


class FnCallAgent(Agent):
    """An agent whose model may call tools, as often as it needs to.

    Args:
        function_list, llm, system_message, name, description: As for `Agent`.
        files: Documents (paths, folders, globs, addresses) for `mem` and for tools with `file_access`.
        max_llm_call_per_run: Model calls of one turn; None is `settings.MAX_LLM_CALL_PER_RUN`. When they are
            used up with tools still wanted, `on_limit` decides.
        **kwargs: `on_limit`, and `rag_cfg` for the memory.
    """

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        files: Sequence[str] | None = None,
        max_llm_call_per_run: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, system_message, name, description, **kwargs)
        self.max_llm_call_per_run = max_llm_call_per_run
        self._files = list(files or [])
        self._rag_cfg = dict(kwargs.get("rag_cfg") or {})
        self._mem: Memory | None = None
        self._mem_lock = threading.Lock()

    @property
    def mem(self) -> Memory:
        """The agent's memory of documents, made when it is first wanted."""
        with self._mem_lock:
            if self._mem is None:
                from qwen_agentkit.memory import Memory

                self._mem = Memory(llm=self.llm, files=self._files, rag_cfg=self._rag_cfg)
            return self._mem

    @mem.setter
    def mem(self, memory: Memory) -> None:
        self._mem = memory

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        conversation, response = list(messages), []
        budget = model_call_limit(kwargs.pop("max_llm_call_per_run", None), self.max_llm_call_per_run, _assigned())
        calls_made, limit = 0, None
        while limit is None:
            if calls_made >= budget:
                limit = "model_calls"
                break
            output: list[Message] = []
            try:
                for output in self._call_llm(
                    conversation, self._functions(), extra_generate_cfg=_generate_cfg(lang, kwargs)
                ):
                    yield response + output
            except RunLimitExceeded as error:
                limit = error.which
            calls_made += 1
            response, conversation = response + output, conversation + output
            calls = self._tool_calls(output)
            if not calls:
                break
            for _ in self._run_tools(calls, conversation, kwargs):
                yield response + _results(calls)
            response, conversation = response + _results(calls), conversation + _results(calls)
            yield response
        if limit is not None:
            yield from self._end_at_limit(limit, budget, conversation, response, lang, kwargs)
        self._keep_files(conversation)

    def _end_at_limit(
        self,
        which: str,
        budget: int,
        conversation: list[Message],
        response: list[Message],
        lang: str,
        kwargs: dict[str, Any],
    ) -> Iterator[list[Message]]:
        """The end of a turn that may make no further tool calls."""
        if self.on_limit == "raise":
            raise RunLimitExceeded(which, f"{self._label()} reached its limit of {budget} model calls", response)
        output: list[Message] = []
        if self.on_limit == "answer":
            try:
                for output in self._call_llm(
                    closing_request(conversation, lang), extra_generate_cfg=_generate_cfg(lang, kwargs)
                ):
                    # Tools were not offered: a call that comes all the same is not one.
                    output = [message for message in output if message.function_call is None]
                    yield response + output
            except RunLimitExceeded as error:
                which = error.which
            if not any(message.content for message in output):
                output = [*output, limit_answer(which, lang)]
        response = response + output
        if response:
            last = response[-1]
            response[-1] = last.model_copy(update={"extra": {**(last.extra or {}), "end": f"limit:{which}"}})
            yield response

    def _functions(self) -> list[dict]:
        return [tool.function for tool in self.function_map.values()]

    def _tool_calls(self, output: list[Message]) -> list[ToolCall]:
        """The calls in one reply. A call that came without an id gets one, in the message too."""
        calls = []
        for message in output:
            wanted, name, arguments, _ = self._detect_tool(message)
            if not wanted:
                continue
            call_id = (message.extra or {}).get("function_id")
            if not call_id:
                call_id = new_call_id()
                message.extra = {**(message.extra or {}), "function_id": call_id}
            calls.append(ToolCall(call_id, name or "", arguments if arguments is not None else "{}"))
        return calls

    def _run_tools(self, calls: list[ToolCall], conversation: list[Message], kwargs: dict[str, Any]) -> Iterator[None]:
        def execute(call: ToolCall) -> str | list[ContentItem]:
            return self._call_tool(call.name, call.arguments, messages=conversation, **kwargs)

        yield from run_calls(calls, self.function_map, execute)

    def _call_tool(self, tool_name: str, tool_args: str | dict = "{}", **kwargs: Any) -> str | list[ContentItem]:
        tool = self.function_map.get(tool_name)
        if tool is not None and getattr(tool, "file_access", False) and "files" not in kwargs:
            kwargs["files"] = self._files_for_tools(kwargs.get("messages") or [])
        return super()._call_tool(tool_name, tool_args, **kwargs)

    def _files_for_tools(self, messages: list[Message]) -> list[str]:
        from qwen_agentkit.utils.message_files import files_of, images_of

        return list(dict.fromkeys([*files_of(messages), *images_of(messages), *self.mem.system_files]))

    def _keep_files(self, conversation: list[Message]) -> None:
        """Reads documents that the turn brought in, so that the next turn finds them without waiting."""
        from qwen_agentkit.utils.message_files import files_of

        files = files_of(conversation)
        if files and (self._mem is not None or self._files):
            self.mem.extend_files(files, conversation=conversation)


def _generate_cfg(lang: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    cfg: dict[str, Any] = {"lang": lang}
    if kwargs.get("seed") is not None:
        cfg["seed"] = kwargs["seed"]
    return cfg


def _results(calls: list[ToolCall]) -> list[Message]:
    """Result messages of the calls that are closed, up to the first that is open."""
    results = []
    for call in calls:
        if call.outcome is None:
            break
        results.append(call.message)
    return results


def _assigned() -> int | None:
    return MAX_LLM_CALL_PER_RUN if MAX_LLM_CALL_PER_RUN is not None else settings.MAX_LLM_CALL_PER_RUN
