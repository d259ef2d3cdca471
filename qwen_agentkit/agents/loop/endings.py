"""How a turn ends whose tool rounds are counted: by a summary of the results, or by a last reply about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit import events
from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.utils.untrusted import unmarked


@dataclass(frozen=True)
class Endings:
    """Settings of single-round and few-round turns.

    Args:
        max_tool_iterations: Tool rounds of a turn; None leaves it to the limit of model calls.
        reflect_on_tool_use: Whether the last round is followed by one more model call, without tools. None:
            only when the answer must have a type.
        summary_format: Text for each call when it is not; fields `tool_name`, `arguments`, `result`, `is_error`.
        summary_formatter: `formatter(call, result)` in its place, where call is a `ToolCall` and result text.
        summary_rounds: `last` or `all`.
    """

    max_tool_iterations: int | None = None
    reflect_on_tool_use: bool | None = None
    summary_format: str = "{result}"
    summary_formatter: Callable[[ToolCall, str], str] | None = None
    summary_rounds: str = "last"

    def __post_init__(self) -> None:
        rounds = self.max_tool_iterations
        if rounds is not None and (isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1):
            raise ValueError(f"max_tool_iterations is a whole number of at least 1 or None, not {rounds!r}")
        if rounds is None and self.reflect_on_tool_use is False:
            raise ValueError(
                "reflect_on_tool_use=False ends a turn after its tools: say after how many rounds with "
                "max_tool_iterations (1 is a single round)"
            )
        if self.summary_rounds not in ("last", "all"):
            raise ValueError(f"summary_rounds is 'last' or 'all', not {self.summary_rounds!r}")

    def reached(self, rounds: int) -> bool:
        return self.max_tool_iterations is not None and rounds >= self.max_tool_iterations

    def reflects(self, typed: bool) -> bool:
        return typed if self.reflect_on_tool_use is None else self.reflect_on_tool_use

    def summary(self, rounds: Sequence[Sequence[ToolCall]], skip: frozenset[str] = frozenset()) -> str:
        """The results as text, one call a line.

        Args:
            rounds: The turn's rounds.
            skip: Names of tools that do not belong in it (handoffs).
        """
        chosen = rounds if self.summary_rounds == "all" else rounds[-1:]
        return "\n".join(self._line(call) for calls in chosen for call in calls if call.name not in skip)

    def _line(self, call: ToolCall) -> str:
        result = unmarked(as_text(call.content))
        if self.summary_formatter is not None:
            return self.summary_formatter(call, result)
        fields: dict[str, Any] = {
            "tool_name": call.name,
            "arguments": call.arguments,
            "result": result,
            "is_error": call.outcome != events.OK,
        }
        return self.summary_format.format(**fields)


def as_text(content: str | list[ContentItem] | None) -> str:
    """Content as text; items that are not text are named by their kind and value."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(item.value if item.type == "text" else f"[{item.type}]({item.value})" for item in content)
