"""What the framework does to the results of a round before the model gets them."""

from __future__ import annotations

from qwen_agentkit.agents.loop.outside_text import fenced
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.tool_round import with_note
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.schema import FUNCTION, ContentItem
from qwen_agentkit.tools.large_results import READ_TOOL, LargeResults


def finish_results(turn: Turn, large: LargeResults | None, repeats: RepeatGuard | None) -> None:
    """Cuts large results to a preview, fences outside text, and puts notices behind them.

    Args:
        turn: The turn; the round's calls are closed and not yet in its history.
        large: Where large results are kept, None to leave them whole.
        repeats: The guard, None for no notices.
    """
    for call in turn.calls:
        if not call.content:
            continue
        content, notice = call.content, ""
        if large is not None and call.name != READ_TOOL:
            content, notice = _without_notice(large.fit(content, call.call_id, turn.lang), content)
        call.content = fenced(content, call, turn.tools.get(call.name), turn.lang)
        if notice:
            call.add_note(notice)
    if repeats is not None:
        before = turn.all_calls
        for position, call in enumerate(turn.calls, 1):
            note = repeats.note([*before, *turn.calls[:position]], turn.lang)
            if note:
                call.add_note(note)


def take_follow_ups(turn: Turn) -> None:
    """Puts the user's follow-ups behind the last tool result; called when a model is about to read it, and only then,
    since a text that was taken counts as delivered."""
    if turn.follow_ups is None or not turn.response or turn.response[-1].role != FUNCTION:
        return
    text = turn.follow_ups.take(turn.lang)
    if text:
        noted = with_note(turn.response[-1].content, text)
        result = turn.response[-1].model_copy(update={"content": noted})
        turn.response = [*turn.response[:-1], result]
        turn.conversation = [*turn.conversation[:-1], result]


def _without_notice(
    shown: str | list[ContentItem], whole: str | list[ContentItem]
) -> tuple[str | list[ContentItem], str]:
    """A preview, and apart from it the notice of how to read on, which is not the tool's text."""
    if isinstance(shown, str) and shown != whole:
        preview, mark, notice = shown.rpartition("\n\n[")
        if mark:
            return preview, f"[{notice}"
    return shown, ""
