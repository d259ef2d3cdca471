"""What a request decorator is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.tools.base import BaseTool


class RequestDecorator:
    """Adds to what the model is sent. Subclasses override `decorate`, and `tools` where they bring any.

    Attributes:
        order: Its place among the others, lowest first.
    """

    order: ClassVar[int] = 100

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        """The messages to send.

        Args:
            messages: The conversation; not to be changed.
            llm: The agent's model.
            lang: `zh` or `en`.
        """
        return messages

    def tools(self) -> list[BaseTool]:
        """Tools that go with it."""
        return []

    def on_error(self, error: Exception) -> str | None:
        """What the agent says when its model fails; None lets the error be raised."""
        return None


def in_order(decorators: Sequence[RequestDecorator]) -> tuple[RequestDecorator, ...]:
    """The decorators in the order in which they act."""
    for decorator in decorators:
        if not isinstance(decorator, RequestDecorator):
            raise ValueError(f"decorators holds RequestDecorator objects, not {decorator!r}")
    return tuple(sorted(decorators, key=lambda decorator: decorator.order))


def decorated(messages: list[Message], decorators: Sequence[RequestDecorator], llm: Any, lang: str) -> list[Message]:
    """The conversation with what all of them add."""
    messages = list(messages)
    for decorator in decorators:
        messages = decorator.decorate(messages, llm, lang)
    return messages


def with_user_text(messages: list[Message], text: str, before: bool = False) -> list[Message]:
    """The conversation with text put behind (or before) its last user message; unchanged without one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role != USER:
            continue
        if isinstance(message.content, str):
            parts = [text, message.content] if before else [message.content, text]
            content: str | list[ContentItem] = "\n\n".join(part for part in parts if part)
        elif before:
            content = [ContentItem(text=text + "\n\n"), *message.content]
        else:
            content = [*message.content, ContentItem(text="\n\n" + text)]
        return [*messages[:index], message.model_copy(update={"content": content}), *messages[index + 1 :]]
    return messages
