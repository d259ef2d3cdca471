"""What the framework adds to the results of a round before the model gets them."""

from __future__ import annotations

from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.turn import Turn
from qwen_agentkit.follow_ups import FollowUps
from qwen_agentkit.tools.large_results import READ_TOOL, LargeResults


def finish_results(
    turn: Turn, large: LargeResults | None, repeats: RepeatGuard | None, follow_ups: FollowUps | None
) -> None:
    """Cuts large results to a preview, and puts notices about repeated calls and the user's follow-ups behind them.

    Args:
        turn: The turn; the round's calls are closed and not yet in its history.
        large: Where large results are kept, None to leave them whole.
        repeats: The guard, None for no notices.
        follow_ups: The run's mailbox, None without one.
    """
    for call in turn.calls:
        if large is not None and call.content and call.name != READ_TOOL:
            call.content = large.fit(call.content, call.call_id, turn.lang)
    if repeats is not None:
        before = turn.all_calls
        for position, call in enumerate(turn.calls, 1):
            note = repeats.note([*before, *turn.calls[:position]], turn.lang)
            if note:
                call.add_note(note)
    if follow_ups is not None and turn.calls:
        text = follow_ups.take(turn.lang)
        if text:
            turn.calls[-1].add_note(text)
