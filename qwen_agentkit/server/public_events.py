"""Events in the form that leaves the server."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.events import Event, RunEnded, ToolCallFinished


def public_event(event: Event) -> dict[str, Any]:
    """An event as JSON-able facts, without what is for the server's log only.

    Of a tool's traceback the last line stays, of the error that ended an agent's run its kind: the terminal event
    says what a client is to know.
    """
    facts = event.to_dict()
    if isinstance(event, ToolCallFinished) and event.error:
        facts["error"] = next((line for line in reversed(event.error.splitlines()) if line.strip()), "")
    elif isinstance(event, RunEnded) and event.error:
        facts["error"] = event.error.partition(":")[0]
    return facts
