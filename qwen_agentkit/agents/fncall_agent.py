"""`FnCallAgent`: the loop that lets a model use tools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.agent import Agent, wanted_form
from qwen_agentkit.agents.handoff import Handoff, HandoffTool, handoff_tools
from qwen_agentkit.agents.hooks import Hooks, StopTurn, ask_hooks
from qwen_agentkit.agents.loop import ending, handing_off, setup
from qwen_agentkit.agents.loop.approval import approver_of, review
from qwen_agentkit.agents.loop.endings import Endings
from qwen_agentkit.agents.loop.light_schemas import ask_in_two_stages
from qwen_agentkit.agents.loop.limit import model_call_limit
from qwen_agentkit.agents.loop.mcp_servers import ServerTools
from qwen_agentkit.agents.loop.notes import finish_results, take_follow_ups
from qwen_agentkit.agents.loop.outside_text import find_risky
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.tool_round import ToolCall, run_calls
from qwen_agentkit.agents.loop.tool_search import ToolSearch
from qwen_agentkit.agents.loop.turn import Checkpoint, Resumption, Turn
from qwen_agentkit.agents.request_decorators import RequestDecorator, decorated, in_order
from qwen_agentkit.errors import ModelServiceError, RunLimitExceeded
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ASSISTANT, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.large_results import READ_TOOL, LargeResults
from qwen_agentkit.utils.ids import new_call_id
from qwen_agentkit.utils.message_files import file_list

if TYPE_CHECKING:
    from qwen_agentkit.agents.group.termination import Termination
    from qwen_agentkit.memory import Memory
    from qwen_agentkit.tools.workbench import Workbench

# One for all agents: an agent that held a lock could be neither copied nor pickled.
_MEM_LOCK = threading.Lock()

# A program may assign its own number here, as Qwen-Agent programs do; None leaves it to the settings.
MAX_LLM_CALL_PER_RUN: int | None = None


class FnCallAgent(Agent):
    """An agent whose model may call tools, as often as it needs to.

    Args:
        function_list, llm, system_message, name, description: As for `Agent`. Tools of `mcpServers` are listed anew
            before every model call: what a server adds, takes away or changes is seen.
        files: Documents (paths, folders, globs, addresses) for `mem` and for tools with `file_access`.
        rag_cfg: Settings of retrieval for `mem`.
        workbench: Tools that come and go, listed anew before every model call.
        max_llm_call_per_run: Model calls of one turn; None is `settings.MAX_LLM_CALL_PER_RUN`. When they are
            used up with tools still wanted, `on_limit` decides.
        max_tool_iterations: Tool rounds of one turn; then a summary of the results, or a last reply about them,
            is the answer. None: as many as the model calls allow.
        reflect_on_tool_use: With `max_tool_iterations`: whether that last reply is made. None: only when the
            answer must have a type.
        tool_call_summary_format: Text of the summary for each call; fields `tool_name`, `arguments`, `result`,
            `is_error`.
        tool_call_summary_formatter: `formatter(call, result)` in its place.
        summary_rounds: `last` or `all`.
        handoffs: Agents (or `Handoff`) that the conversation may be passed on to.
        handoff_mode: `continue`: the run goes on with the other agent. `return`: it ends with `extra["handoff"]`.
        max_handoffs: Handoffs in one run; then the agent must answer itself.
        approve: Who decides about tool calls: True, False, `"pause"`, `"untrusted"` (pauses before calls with side
            effects once text of documents, pages or tools is in the context), a dict by tool name, or a function of
            the `ToolCall` that returns one of these, a reason, or a `Decision`.
        repeats: Notices for repeated calls; False for none.
        repeat_by: What counts as a repeat where `repeats` does not say: `call` (the same tool with equal
            arguments) or `tool` (whatever its arguments, unless its results differ).
        large_results: Where results over 27,500 tokens are kept, for the model to read page by page; False leaves
            every result whole.
        tool_schema_mode: `full`, or `light`: the model first gets names and descriptions, and the parameters only
            of the tools that it chose.
        tool_search: What happens with very many tools (over 40: the model searches for them); False offers all.
        decorators: Objects of `agents.request_decorators` that add to what the model is sent, each turn anew.
        termination: A condition (`TextMention("DONE") | Seconds(60)`, see `agents.group`) that ends the turn after
            a reply or a tool round, where it would otherwise go on.
        hooks: `Hooks` that look on.
        honesty_rule: Whether the prompt of an agent with tools says to invent nothing where a tool gave nothing.
        **kwargs: `on_limit`.

    Arguments of `run` read here: `follow_ups` (`FollowUps`), `checkpoint` (`Checkpoint`),
    `max_llm_call_per_run`, `seed`.
    """

    # On the class, because the base class makes the tools before anything else is set.
    _mcp_servers: tuple[ServerTools, ...] = ()

    def __init__(
        self,
        function_list: Sequence[Any] | None = None,
        llm: Any = None,
        system_message: str | None = "",
        name: str | None = None,
        description: str | None = None,
        files: Sequence[str] | None = None,
        rag_cfg: Mapping[str, Any] | None = None,
        *,
        workbench: Workbench | None = None,
        max_llm_call_per_run: int | None = None,
        max_tool_iterations: int | None = None,
        reflect_on_tool_use: bool | None = None,
        tool_call_summary_format: str = "{result}",
        tool_call_summary_formatter: Callable[[ToolCall, str], str] | None = None,
        summary_rounds: str = "last",
        handoffs: Sequence[Agent | Handoff | str] | None = None,
        handoff_mode: str = "continue",
        max_handoffs: int = 3,
        approve: bool | str | Mapping[str, Any] | Callable[[ToolCall], Any] | None = None,
        repeats: RepeatGuard | bool | None = None,
        repeat_by: str = "call",
        large_results: LargeResults | bool | None = None,
        tool_schema_mode: str = "full",
        tool_search: ToolSearch | bool | None = None,
        decorators: Sequence[RequestDecorator] = (),
        termination: Termination | None = None,
        hooks: Sequence[Hooks] = (),
        honesty_rule: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, system_message, name, description, **kwargs)
        self.max_llm_call_per_run = max_llm_call_per_run
        self.endings = Endings(
            max_tool_iterations,
            reflect_on_tool_use,
            tool_call_summary_format,
            tool_call_summary_formatter,
            summary_rounds,
        )
        self.workbench = workbench
        self.handoff_map = handoff_tools(handoffs, set(self.function_map))
        self.handoff_mode = setup.checked_handoff_mode(handoff_mode, self.handoff_map)
        self.max_handoffs = max_handoffs
        self.repeats = setup.repeat_guard(repeats, repeat_by)
        self.large_results = setup.large_results(large_results)
        self.tool_schema_mode = setup.checked_schema_mode(tool_schema_mode)
        self.tool_search = setup.tool_search(tool_search)
        self.decorators = in_order(decorators)
        self.termination = setup.checked_termination(termination)
        self.hooks = tuple(hooks)
        self.honesty_rule = honesty_rule
        self._approver = approver_of(approve)
        self._files = file_list(files)
        self._rag_cfg = dict(rag_cfg or {})
        self._mem: Memory | None = None

    @property
    def mem(self) -> Memory:
        """The agent's memory of documents, made when it is first wanted."""
        with _MEM_LOCK:
            if self._mem is None:
                from qwen_agentkit.memory import Memory

                self._mem = Memory(llm=self.llm, files=self._files, rag_cfg=self._rag_cfg)
            return self._mem

    @mem.setter
    def mem(self, memory: Memory) -> None:
        self._mem = memory

    def _init_tool(self, tool: Any) -> None:
        if isinstance(tool, Mapping) and "mcpServers" in tool:
            servers = ServerTools(tool)
            self._mcp_servers = (*self._mcp_servers, servers)
            for made in servers.first:
                super()._init_tool(made)
        else:
            super()._init_tool(tool)

    # ---- the loop ------------------------------------------------------------------------------------------

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        budget = model_call_limit(kwargs.pop("max_llm_call_per_run", None), self.max_llm_call_per_run, _assigned())
        # Arguments of these names that are something else belong to the program's tools.
        follow_ups: FollowUps | None = setup.taken(kwargs, "follow_ups", FollowUps)
        checkpoint: Checkpoint | None = setup.taken(kwargs, "checkpoint", Checkpoint)
        saved: Resumption | None = setup.taken(kwargs, "resume_from", Resumption)
        turn = saved.turn(budget) if saved else Turn(self._prompt(messages, lang), lang, budget, kwargs)
        turn.follow_ups = follow_ups
        decisions = saved.decisions if saved else None
        watch = ending.watching(self.termination, turn)
        try:
            with setup.started(self.workbench):
                if saved:
                    turn.tools = self._tools(turn)
                while turn.end is None:
                    if not turn.calls:
                        yield from self._ask(turn)
                        self._save(turn, checkpoint)
                        ending.ask_termination(watch, turn, turns=0)
                    if turn.calls and turn.end is None:
                        yield from self._act(turn, checkpoint, decisions)
                        decisions = None
                        ending.ask_termination(watch, turn, turns=1)
                yield from ending.close_turn(self, turn)
        except StopTurn as stop:
            turn.say([Message(ASSISTANT, stop.answer)] if stop.answer else [])
            yield turn.response
        except ModelServiceError as error:
            text = next(filter(None, (decorator.on_error(error) for decorator in self.decorators)), None)
            if text is None:
                raise
            logger.warning("The model failed; the persona's text stands for its answer: %s", error)
            turn.say([Message(ASSISTANT, text, extra={"end": "error"})])
            yield turn.response
        finally:
            run = current_run()
            # A member's turn may end while the team's run, whose mailbox it is, goes on.
            if follow_ups is not None and (run is None or run.parent is None):
                follow_ups.close()
        self._keep_files(turn.conversation)

    def _ask(self, turn: Turn) -> Iterator[list[Message]]:
        """One model call: its reply, and the calls it makes."""
        if turn.model_calls >= turn.budget:
            turn.end = "limit:model_calls"
            return
        take_follow_ups(turn)
        turn.tools = self._tools(turn)
        functions = [tool.function for tool in turn.tools.values()]
        sent = ask_hooks(self.hooks, lambda hook: hook.before_model(turn.conversation, functions), turn.conversation)
        reply: list[Message] = []
        turn.model_calls += 1
        try:
            for reply in self._reply(turn, sent, functions):
                yield turn.response + reply
        except RunLimitExceeded as error:
            turn.end = f"limit:{error.which}"
        reply = ask_hooks(self.hooks, lambda hook: hook.after_model(reply), reply)
        turn.calls = self._tool_calls(reply, turn.conversation)
        turn.say(reply)
        if not turn.calls and turn.end is None:
            turn.end = "answered"

    def _reply(self, turn: Turn, sent: list[Message], functions: list[dict[str, Any]]) -> Iterator[list[Message]]:
        def ask(messages: list[Message], offered: list[dict[str, Any]]) -> Iterator[list[Message]]:
            form = {} if offered else wanted_form()
            return self._call_llm(messages, offered, extra_generate_cfg=generate_cfg(turn), **form)

        if self.tool_schema_mode == "light" and functions:
            return ask_in_two_stages(ask, sent, functions, turn.lang)
        return ask(sent, functions)

    def _act(self, turn: Turn, checkpoint: Checkpoint | None, decisions: Any) -> Iterator[list[Message]]:
        """The tool calls of one reply: decided about, made at once, their results taken in."""
        run = current_run()
        turn.tools = turn.tools or self._tools(turn)
        handing_off.choose(turn, run)
        for call in find_risky(turn.calls, turn.tools, turn.conversation):
            call.risky = True
        if review(turn.calls, self._approver, run, decisions):
            turn.end = "paused"
            self._save(turn, checkpoint)
            return

        def execute(call: ToolCall) -> str | list[ContentItem]:
            given = ask_hooks(self.hooks, lambda hook: hook.before_tool(call))
            if given is None:
                given = self._call_tool(call.name, call.arguments, messages=turn.conversation, **turn.kwargs)
            return ask_hooks(self.hooks, lambda hook: hook.after_tool(call, given), given)

        for _ in run_calls(turn.calls, turn.tools, execute):
            self._save(turn, checkpoint)
            yield turn.response + turn.results
        finish_results(turn, self.large_results, self.repeats)
        turn.close_round()
        turn.end = ending.after_round(turn, self.endings, self.repeats)
        self._save(turn, checkpoint)
        yield turn.response

    # ---- what the loop calls -------------------------------------------------------------------------------

    def _prompt(self, messages: list[Message], lang: str) -> list[Message]:
        """The conversation as the loop begins with it."""
        if self.honesty_rule and (self.function_map or self.workbench):
            messages = setup.with_honesty_rule(messages, lang)
        return decorated(messages, self.decorators, self.llm, lang)

    def _tools(self, turn: Turn) -> dict[str, BaseTool]:
        """The tools to offer now, by name."""
        own = dict(self.function_map)
        for servers in self._mcp_servers:
            own = servers.brought_up_to_date(own)
        tools = setup.with_workbench(own, self.workbench)
        tools |= {tool.name: tool for decorator in self.decorators for tool in decorator.tools()}
        if self.tool_search is not None:
            tools = self.tool_search.offered(turn, tools)
        run = current_run()
        if self.handoff_map and handing_off.made(run) < self.max_handoffs:
            tools |= self.handoff_map
        if self.large_results is not None and self.large_results.is_needed(turn.conversation):
            tools.setdefault(READ_TOOL, self.large_results.tool())
        if run is not None:
            run.own("fncall.tools", dict).update(tools)
            setup.offer_summaries(run, tools)
        return tools

    def _tool_calls(self, reply: list[Message], conversation: list[Message]) -> list[ToolCall]:
        """The calls in one reply. One without an id, or with that of an earlier call, gets one in its message."""
        used = {(message.extra or {}).get("function_id") for message in conversation}
        calls = []
        for message in reply:
            wanted, name, arguments, _ = self._detect_tool(message)
            if not wanted:
                continue
            call_id = (message.extra or {}).get("function_id")
            if not call_id or call_id in used:
                call_id = new_call_id()
                message.extra = {**(message.extra or {}), "function_id": call_id}
            used.add(call_id)
            calls.append(ToolCall(call_id, name or "", arguments if arguments is not None else "{}"))
        return calls

    def _call_tool(self, tool_name: str, tool_args: str | dict = "{}", **kwargs: Any) -> str | list[ContentItem]:
        from qwen_agentkit.tools.execution import call_tool

        run = current_run()
        tools = {**self.function_map, **(run.own("fncall.tools", dict) if run is not None else {})}
        if getattr(tools.get(tool_name), "file_access", False) and "files" not in kwargs:
            kwargs["files"] = self._files_for_tools(kwargs.get("messages") or [])
        return call_tool(tools, tool_name, tool_args, kwargs)

    def _save(self, turn: Turn, checkpoint: Checkpoint | None) -> None:
        if checkpoint is not None:
            run = current_run()
            checkpoint.put(turn.to_dict(self.name, as_dicts=run is not None and run.as_dicts))

    def resume(self, state: Mapping[str, Any], decisions: Any = None, **kwargs: Any) -> Iterator[list[Any]]:
        """Goes on with a turn that was saved, in this process or another.

        Args:
            state: A state that a `Checkpoint` got.
            decisions: About the calls that waited: True, False, a reason to deny, or a `Decision`, one for all or
                in a dict by call id.
            **kwargs: As for `run`.

        Yields:
            As `run`: the whole response, what was said before the pause included.
        """
        resumption = Resumption(state, decisions)
        return self.run(resumption.given_messages, lang=state["lang"], resume_from=resumption, **kwargs)

    def _files_for_tools(self, messages: list[Message]) -> list[str]:
        from qwen_agentkit.utils.message_files import files_of, images_of

        return list(dict.fromkeys([*files_of(messages), *images_of(messages), *self.mem.system_files]))

    def _keep_files(self, conversation: list[Message]) -> None:
        """Reads documents that the turn brought in, so that the next turn finds them without waiting."""
        from qwen_agentkit.utils.message_files import files_of

        files = files_of(conversation)
        if files and (self._mem is not None or self._files):
            self.mem.extend_files(files, conversation=conversation)


def generate_cfg(turn: Turn) -> dict[str, Any]:
    """Settings of the turn's model calls."""
    cfg: dict[str, Any] = {"lang": turn.lang}
    if turn.kwargs.get("seed") is not None:
        cfg["seed"] = turn.kwargs["seed"]
    return cfg


def _assigned() -> int:
    return MAX_LLM_CALL_PER_RUN if MAX_LLM_CALL_PER_RUN is not None else settings.MAX_LLM_CALL_PER_RUN


__all__ = ["MAX_LLM_CALL_PER_RUN", "FnCallAgent", "HandoffTool"]
