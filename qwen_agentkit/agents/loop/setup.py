"""Checks and preparations of the tool loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwen_agentkit.agents.handoff import HandoffTool
from qwen_agentkit.agents.loop.light_schemas import MODES
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.tool_search import ToolSearch
from qwen_agentkit.run_context import RunContext
from qwen_agentkit.schema import Message
from qwen_agentkit.system_message import appended
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.tools.large_results import LargeResults
from qwen_agentkit.tools.results import HONESTY_RULE

if TYPE_CHECKING:
    from qwen_agentkit.tools.workbench import Workbench


def checked_handoff_mode(mode: str, tools: Mapping[str, HandoffTool]) -> str:
    """The mode.

    Raises:
        ValueError: It is unknown, or a run could not go on because a target is only a name.
    """
    if mode not in ("continue", "return"):
        raise ValueError(f"handoff_mode is 'continue' or 'return', not {mode!r}")
    if mode == "continue":
        for tool in tools.values():
            if isinstance(tool.handoff.target, str):
                raise ValueError(
                    f"The handoff to {tool.handoff.target!r} names an agent; give the agent itself, or "
                    "handoff_mode='return' for a team that knows it"
                )
    return mode


def repeat_guard(repeats: RepeatGuard | bool | None, by: str) -> RepeatGuard | None:
    """The guard for an agent's `repeats` and `repeat_by` arguments."""
    if repeats is None or repeats is True:
        return RepeatGuard(by)
    if repeats is False:
        return None
    if not isinstance(repeats, RepeatGuard):
        raise ValueError(f"repeats is a RepeatGuard, True or False, not {repeats!r}")
    return repeats


def checked_termination(termination: Any) -> Any:
    """The condition; a ValueError for something else."""
    if termination is not None:
        from qwen_agentkit.agents.group.termination import Termination

        if not isinstance(termination, Termination):
            raise ValueError(f"termination is a condition of qwen_agentkit.agents, not {termination!r}")
    return termination


def checked_schema_mode(mode: str) -> str:
    """The mode; a ValueError for an unknown one."""
    if mode not in MODES:
        raise ValueError(f"tool_schema_mode is one of {', '.join(MODES)}, not {mode!r}")
    return mode


def tool_search(setting: ToolSearch | bool | None) -> ToolSearch | None:
    """The search for an agent's `tool_search` argument."""
    if setting is None or setting is True:
        return ToolSearch()
    if setting is False:
        return None
    if not isinstance(setting, ToolSearch):
        raise ValueError(f"tool_search is a ToolSearch, True or False, not {setting!r}")
    return setting


def with_workbench(tools: Mapping[str, BaseTool], workbench: Workbench | None) -> dict[str, BaseTool]:
    """An agent's own tools and those that the workbench lists now.

    Raises:
        ValueError: Both have a tool of one name.
    """
    listed = dict(tools)
    for tool in workbench.list_tools() if workbench is not None else ():
        if tool.name in listed:
            raise ValueError(f"{tool.name!r} is in function_list and in the workbench; rename one of them")
        listed[tool.name] = tool
    return listed


def large_results(setting: LargeResults | bool | None) -> LargeResults | None:
    """The store for an agent's `large_results` argument."""
    if setting is None or setting is True:
        return LargeResults()
    if setting is False:
        return None
    if not isinstance(setting, LargeResults):
        raise ValueError(f"large_results is a LargeResults, True or False, not {setting!r}")
    return setting


def with_honesty_rule(messages: list[Message], lang: str) -> list[Message]:
    """The conversation whose system message ends with the rule to invent nothing."""
    return appended(messages, HONESTY_RULE["zh" if lang == "zh" else "en"])


def offer_summaries(run: RunContext, tools: Mapping[str, BaseTool]) -> None:
    """Lets compaction ask the tools of this run tree for the conclusion of an old result."""
    from qwen_agentkit.llm.compaction import SUMMARIZE_RESULT

    known: dict[str, BaseTool] = run.state.setdefault("fncall.tools", {})
    known.update(tools)

    def summarize(name: str, content: Any) -> str | None:
        tool = known.get(name)
        return tool.summarize(content) if tool is not None else None

    run.state.setdefault(SUMMARIZE_RESULT, summarize)


def taken(kwargs: dict[str, Any], name: str, kind: type) -> Any:
    """Takes an argument out of `kwargs` when it is of that kind; None otherwise."""
    return kwargs.pop(name) if isinstance(kwargs.get(name), kind) else None


@contextmanager
def started(workbench: Workbench | None) -> Iterator[None]:
    """A workbench that is started now and stopped at the end."""
    if workbench is None:
        yield
        return
    workbench.start()
    try:
        yield
    finally:
        workbench.stop()
