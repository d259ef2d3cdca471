"""The end of a turn: when it comes, and what is said last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qwen_agentkit import events
from qwen_agentkit.agent import wanted_form
from qwen_agentkit.agents.handoff import HandoffTool
from qwen_agentkit.agents.loop import handing_off
from qwen_agentkit.agents.loop.endings import Endings
from qwen_agentkit.agents.loop.limit import closing_request, limit_answer
from qwen_agentkit.agents.loop.notes import take_follow_ups
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.errors import RunLimitExceeded
from qwen_agentkit.limits import Usage
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ASSISTANT, Message

if TYPE_CHECKING:
    from qwen_agentkit.agents.fncall_agent import FnCallAgent
    from qwen_agentkit.agents.group.termination import Termination

# Ends that are no end of `extra["end"]` but say what the closing step is.
_SUMMARY, _DIRECT = "summary", "direct"


def after_round(turn: Turn, endings: Endings, repeats: RepeatGuard | None) -> str | None:
    """Why the turn ends after a tool round, None when it goes on."""
    if handing_off.of_round(turn) is not None:
        return "handoff"
    calls = turn.rounds[-1]
    if calls and all(_is_answer(turn, call) for call in calls):
        return _DIRECT
    if repeats is not None and repeats.must_stop(turn.all_calls):
        return "limit:repeats"
    if endings.reached(len(turn.rounds)):
        return _SUMMARY
    return None


@dataclass
class Watch:
    """A turn's own copy of the condition that may end it, and how much of the turn it has been told."""

    condition: Termination
    told: int = 0


def watching(termination: Termination | None, turn: Turn) -> Watch | None:
    """Begins to watch a turn: the condition is told the task."""
    if termination is None:
        return None
    from qwen_agentkit.agents.group.termination import News

    watch = Watch(termination.fresh())
    task = turn.conversation[: len(turn.conversation) - len(turn.response)]
    stop = watch.condition.check(News(task, [None] * len(task), task=True, conversation=task, lang=turn.lang))
    if stop is not None:
        turn.end = stop.end
    return watch


def ask_termination(watch: Watch | None, turn: Turn, turns: int) -> None:
    """Tells the condition what is new; ends the turn where it fires and the turn would go on.

    Args:
        watch: The condition, None without one.
        turn: The turn.
        turns: Rounds that ended since it was last asked.
    """
    if watch is None or turn.end is not None:
        return
    from qwen_agentkit.agents.group.termination import News

    new = turn.response[watch.told :]
    watch.told = len(turn.response)
    run = current_run()
    stop = watch.condition.check(
        News(
            new,
            [run.agent if run is not None else None] * len(new),
            turns=turns,
            usage=run.usage if run is not None else Usage(),
            conversation=turn.conversation,
            lang=turn.lang,
        )
    )
    if stop is None:
        return
    # Calls that were not made yet stay unmade, each with an answer that says so.
    for call in turn.calls:
        call.give_up(run, events.CANCELLED, f"Not made: {stop.reason}.")
    if turn.calls:
        turn.close_round()
    turn.end = stop.end


def _is_answer(turn: Turn, call: ToolCall) -> bool:
    return call.outcome == events.OK and getattr(turn.tools.get(call.name), "return_direct", False)


def close_turn(agent: FnCallAgent, turn: Turn) -> Iterator[list[Message]]:
    """Says what is to be said last. Yields the whole response, whose last message notes the end."""
    end = turn.end or "answered"
    if end == "handoff":
        yield from handing_off.carry_out(agent, turn)
        return
    if end.startswith("limit:"):
        yield from _at_limit(agent, turn)
        return
    if end in (_SUMMARY, _DIRECT):
        yield from _after_tools(
            agent, turn, reflect=end == _SUMMARY and agent.endings.reflects(typed=bool(wanted_form()))
        )
        return
    yield _noted(turn, end)


def _after_tools(agent: FnCallAgent, turn: Turn, reflect: bool) -> Iterator[list[Message]]:
    if reflect:
        take_follow_ups(turn)
        reply: list[Message] = []
        for reply in _without_tools(agent, turn, turn.conversation):
            yield turn.response + reply
        if any(message.content for message in reply):
            turn.say(reply)
            yield _noted(turn, "answered")
            return
    skip = frozenset(name for name, tool in turn.tools.items() if isinstance(tool, HandoffTool))
    turn.say([Message(ASSISTANT, agent.endings.summary(turn.rounds, skip))])
    yield _noted(turn, "tool_ended")


def _at_limit(agent: FnCallAgent, turn: Turn) -> Iterator[list[Message]]:
    which = (turn.end or "").removeprefix("limit:")
    if agent.on_limit == "raise":
        text = f"{agent._label()} reached its limit of {which.replace('_', ' ')}"
        raise RunLimitExceeded(which, f"{text} ({turn.budget})" if which == "model_calls" else text, turn.response)
    if agent.on_limit == "answer":
        take_follow_ups(turn)
        reply: list[Message] = []
        try:
            for reply in _without_tools(agent, turn, closing_request(turn.conversation, turn.lang)):
                yield turn.response + reply
        except RunLimitExceeded as error:
            which = error.which
        if not any(message.content for message in reply):
            reply = [*reply, limit_answer(which, turn.lang)]
        turn.say(reply)
    if turn.response:
        yield _noted(turn, f"limit:{which}")


def _without_tools(agent: FnCallAgent, turn: Turn, conversation: list[Message]) -> Iterator[list[Message]]:
    """One model call that is offered no tools; a call that comes all the same is not one."""
    from qwen_agentkit.agents.fncall_agent import generate_cfg

    for reply in agent._call_llm(conversation, extra_generate_cfg=generate_cfg(turn), **wanted_form()):
        yield [message for message in reply if message.function_call is None]


def _noted(turn: Turn, end: str) -> list[Message]:
    """The response with its end noted on the last message."""
    if not turn.response:
        return turn.response
    last = turn.response[-1]
    noted = last.model_copy(update={"extra": {**(last.extra or {}), "end": end}})
    turn.response = [*turn.response[:-1], noted]
    return turn.response
