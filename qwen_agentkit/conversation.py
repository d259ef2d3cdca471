"""`Conversation`: holds the history, so that a program passes only what is new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from qwen_agentkit.llm.compaction import compact_after_turn, compact_now
from qwen_agentkit.schema import ASSISTANT, USER, Message, messages_from
from qwen_agentkit.session_run import closed

if TYPE_CHECKING:
    from qwen_agentkit.agent import Agent


class Conversation:
    """A conversation with an agent, in memory; the agent itself stays as it is.

    Made by `agent.conversation()`. For one that outlives the process use a session. With a model whose `compaction`
    is set to `when="after_turn"` the history kept here is made shorter after each turn.

    Attributes:
        messages: The history so far.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.messages: list[Message] = []

    def stream(self, text: str | Message | dict, **kwargs: Any) -> Iterator[list[Message]]:
        """Says something and yields the response so far; at its end, however it comes, the history holds both.

        Args:
            text: What the user says, or a message.
            **kwargs: As for `Agent.run`.
        """
        new = [Message(USER, text)] if isinstance(text, str) else messages_from([text])
        response: list[Message] = []
        end: str | None = "cancelled"
        try:
            for response in self._agent.run([*self.messages, *new], **kwargs):
                yield response
            end = None
        except GeneratorExit:
            raise
        except BaseException:
            end = "error"
            raise
        finally:
            self.messages = compact_after_turn(self._agent.llm, [*self.messages, *new, *closed(response, end)])

    def send(self, text: str | Message | dict, **kwargs: Any) -> str:
        """Says something and returns the answer's text."""
        response: list[Message] = []
        for part in self.stream(text, **kwargs):
            response = part
        return answer_text(response)

    def compact(self) -> None:
        """Makes the history shorter now, by the compaction of the agent's model, or pruning and a summary.

        What a summary cannot be made of stays as it is.
        """
        self.messages = compact_now(self.messages, self._agent.llm)

    def reset(self) -> None:
        """Forgets what was said. The agent's system message is the agent's own and stays."""
        self.messages = []


def answer_text(response: list[Any]) -> str:
    """Text of the last thing that an agent said; "" when it said nothing."""
    from qwen_agentkit.utils.message_text import text_of

    for message in reversed(response):
        one = message if isinstance(message, Message) else Message(**message)
        if one.role == ASSISTANT and one.function_call is None and one.content:
            return text_of(one)
    return ""
