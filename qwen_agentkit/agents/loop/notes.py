"""What the framework adds to the results of a round before the model gets them."""

from __future__ import annotations

from qwen_agentkit.agents.loop.follow_ups import FollowUps
from qwen_agentkit.agents.loop.repeats import RepeatGuard
from qwen_agentkit.agents.loop.turn import Turn


def add_notes(turn: Turn, repeats: RepeatGuard | None, follow_ups: FollowUps | None) -> None:
    """Puts notices about repeated calls, and the user's follow-ups, behind the results of the round.

    Args:
        turn: The turn; the round's calls are closed and not yet in its history.
        repeats: The guard, None for no notices.
        follow_ups: The run's mailbox, None without one.
    """
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
