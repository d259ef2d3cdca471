"""`DialogueSimulator`: lets a simulated human and an assistant talk with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.human_simulator import STOP
from qwen_agentkit.schema import ASSISTANT, FUNCTION, SYSTEM, USER, Message
from qwen_agentkit.utils.message_text import text_of


class DialogueSimulator(Agent):
    """Plays a dialogue.

    The response is the dialogue: messages of role user by the simulated human, and the assistant's answers with
    their tool calls. It ends when the human says `STOP`, or after `max_round` exchanges.

    Args:
        user_agent: Plays the human, a `HumanSimulator`.
        assistant_agent: Answers.
        max_round: Exchanges.
        **kwargs: As for `Agent`.
    """

    def __init__(self, user_agent: Agent, assistant_agent: Agent, max_round: int = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(max_round, bool) or not isinstance(max_round, int) or max_round < 1:
            raise ValueError(f"max_round is a whole number of at least 1, not {max_round!r}")
        self.user_agent = user_agent
        self.assistant_agent = assistant_agent
        self.max_round = max_round

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        kwargs = {**kwargs, "lang": lang}
        response: list[Message] = []
        for _ in range(self.max_round):
            talk = [*messages, *response]
            if not talk or talk[-1].role != USER:
                words = self.user_agent.run_nonstream(_swapped(talk), **kwargs)
                text = text_of(cast(Message, words[-1])) if words else STOP
                if not text or STOP in text:
                    break
                response = [*response, Message(USER, text, name=self.user_agent.name)]
                yield response
            said: list[Message] = []
            answer = self.assistant_agent.run([*messages, *response], **kwargs)
            for said in cast("Iterator[list[Message]]", answer):
                yield response + said
            if not said:
                break
            response = response + said
        yield response


def _swapped(messages: list[Message]) -> list[Message]:
    """The dialogue with the roles of human and assistant changed over; tools and thinking are not part of it."""
    swapped = []
    for message in messages:
        text = text_of(message)
        if message.role in (SYSTEM, FUNCTION) or message.function_call is not None or not text:
            continue
        role = ASSISTANT if message.role == USER else USER
        swapped.append(message.model_copy(update={"role": role, "reasoning_content": None}))
    return swapped
