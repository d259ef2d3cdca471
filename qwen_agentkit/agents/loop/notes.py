"""What the framework does to the results of a round before the model gets them."""

from __future__ import annotations

from qwen_agentkit.agents.loop.outside_text import fenced
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.schema import ContentItem
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


def add_follow_ups(turn: Turn, follow_ups: FollowUps | None) -> None:
    """Puts the user's follow-ups behind the last result of a round that a model is going to read."""
    if follow_ups is not None and turn.calls:
        text = follow_ups.take(turn.lang)
        if text:
            turn.calls[-1].add_note(text)


def _without_notice(
    shown: str | list[ContentItem], whole: str | list[ContentItem]
) -> tuple[str | list[ContentItem], str]:
    """A preview, and apart from it the notice of how to read on, which is not the tool's text."""
    if isinstance(shown, str) and shown != whole:
        preview, mark, notice = shown.rpartition("\n\n[")
        if mark:
            return preview, f"[{notice}"
    return shown, ""
