"""Handoffs in the tool loop: which one counts, and what the other agent is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from qwen_agentkit import events
from qwen_agentkit.agents.handoff import HandoffTool
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.events import HandoffMade
from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.schema import SYSTEM, USER, Message

if TYPE_CHECKING:
    from qwen_agentkit.agents.fncall_agent import FnCallAgent

_COUNT = "handoff.count"
_TEXTS = {
    "en": {
        "one": "Only one handoff at a time: {first} is the one that is carried out.",
        "failure": "Passing on is allowed only after a tool has failed. Do the work yourself.",
    },
    "zh": {
        "one": "一次只能转交给一个对象：本次执行的是 {first}。",
        "failure": "只有在工具失败之后才允许转交。请自己完成。",
    },
}


def made(run: RunContext | None) -> int:
    """Handoffs that this run tree has made so far."""
    return run.state.get(_COUNT, 0) if run is not None else 0


def choose(turn: Turn, run: RunContext | None) -> None:
    """Closes the handoff calls of the round that do not count: all but the first, and those the rule forbids."""
    texts = _TEXTS["zh" if turn.lang == "zh" else "en"]
    first: ToolCall | None = None
    for call in turn.calls:
        tool = turn.tools.get(call.name)
        if call.outcome is not None or not isinstance(tool, HandoffTool):
            continue
        if tool.handoff.rule == "only_on_failure" and not _failed(turn):
            call.give_up(run, events.DENIED, texts["failure"])
        elif first is not None:
            call.give_up(run, events.DENIED, texts["one"].format(first=first.name))
            if run is not None:
                run.warn(f"Several handoffs in one reply; {first.name} is carried out, {call.name} is not")
        else:
            first = call


def _failed(turn: Turn) -> bool:
    return any(call.outcome not in (events.OK, events.DENIED) for call in turn.all_calls)


def of_round(turn: Turn) -> HandoffTool | None:
    """The handoff that the last round made, None without one."""
    for call in turn.rounds[-1] if turn.rounds else ():
        tool = turn.tools.get(call.name)
        if isinstance(tool, HandoffTool) and call.outcome == events.OK:
            return tool
    return None


def carry_out(agent: FnCallAgent, turn: Turn) -> Iterator[list[Message]]:
    """Ends the turn by its handoff: goes on with the other agent, or leaves a note for the team.

    Yields:
        The whole response, the other agent's part named after it.
    """
    tool = of_round(turn)
    if tool is None:
        return
    handoff, run = tool.handoff, current_run()
    source = agent.name or type(agent).__name__
    if run is not None:
        run.state[_COUNT] = made(run) + 1
        run.emit(HandoffMade, source=source, target=handoff.target_name, message=handoff.message)
    if agent.handoff_mode == "return" or isinstance(handoff.target, str):
        last = turn.response[-1]
        note: dict[str, Any] = {"source": source, "target": handoff.target_name, "message": handoff.message}
        turn.response = [
            *turn.response[:-1],
            last.model_copy(update={"extra": {**(last.extra or {}), "handoff": note, "end": "handoff"}}),
        ]
        yield turn.response
        return
    said = turn.response
    # What is sent from here on reaches the other agent.
    mail = {} if turn.follow_ups is None else {"follow_ups": turn.follow_ups}
    for part in handoff.target.run(_context(turn, tool, source), lang=turn.lang, **turn.kwargs, **mail):
        turn.response = said + part
        yield turn.response


def _context(turn: Turn, tool: HandoffTool, source: str) -> list[Message]:
    """What the other agent is given: the conversation, the other calls with their results, the message."""
    transfers = {
        call.call_id for calls in turn.rounds for call in calls if isinstance(turn.tools.get(call.name), HandoffTool)
    }
    passed = [
        message
        for message in turn.conversation
        if message.role != SYSTEM and (message.extra or {}).get("function_id") not in transfers
    ]
    passed = [*passed, Message(USER, tool.handoff.message, name=source)]
    return tool.handoff.input_filter(passed) if tool.handoff.input_filter is not None else passed
