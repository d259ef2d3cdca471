"""`Hooks`: a look into the tool loop, with the power to change what passes or to stop it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from qwen_agentkit.agents.loop.tool_round import ToolCall
from qwen_agentkit.errors import QwenAgentKitError, RunCancelled
from qwen_agentkit.log import logger
from qwen_agentkit.schema import ContentItem, Message


class StopTurn(QwenAgentKitError):
    """Raised by a hook to end the turn.

    Args:
        answer: What the agent then says; "" says nothing.
    """

    def __init__(self, answer: str = "") -> None:
        super().__init__(answer)
        self.answer = answer


class Hooks:
    """Override what you need. A hook's own exception is logged and does not end the run; `StopTurn` does.

    Every method may return None to leave things as they are.
    """

    def before_model(self, messages: list[Message], functions: list[dict[str, Any]]) -> list[Message] | None:
        """Before each model call of the loop. Returns the messages to send in place of these."""
        return None

    def after_model(self, reply: list[Message]) -> list[Message] | None:
        """After each reply. Returns the messages to take in place of it."""
        return None

    def before_tool(self, call: ToolCall) -> str | list[ContentItem] | None:
        """Before each tool call, in the tool's thread; may change `call.arguments`. Returns a result to give
        without calling the tool."""
        return None

    def after_tool(self, call: ToolCall, content: str | list[ContentItem]) -> str | list[ContentItem] | None:
        """After each tool call, in the tool's thread. Returns what the model gets in place of `content`."""
        return None


def ask_hooks(hooks: Iterable[Hooks], ask: Callable[[Hooks], Any], value: Any = None) -> Any:
    """The last answer of the hooks that is not None, `value` when there is none."""
    for hook in hooks:
        try:
            answer = ask(hook)
        except (StopTurn, RunCancelled):
            raise
        except Exception:
            # A hook looks on: its own mistake must not cost the user the answer.
            logger.exception("A hook of %s failed", type(hook).__name__)
            continue
        if answer is not None:
            value = answer
    return value
