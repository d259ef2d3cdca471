"""`GroupChatAutoRouter`: the host of a group chat, who says who speaks next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.group.names import names_in
from qwen_agentkit.agents.group.prompts import Prompts, check_prompts, prompt, roles
from qwen_agentkit.agents.group.selection import Choice
from qwen_agentkit.agents.group.views import lines_of, owners_of, text_of
from qwen_agentkit.agents.multi_agent_hub import check_members
from qwen_agentkit.schema import ASSISTANT, SYSTEM, USER, Message

STOP = "[STOP]"


class GroupChatAutoRouter(Agent):
    """Reads a conversation and answers with the name of who speaks next, or `[STOP]`.

    Args:
        function_list, llm, name, description: As for `Agent`.
        agents: Those who can speak.
        prompts: Texts in place of the defaults: `select`, `select_first`, `select_none`, `select_many` of
            `agents.group.prompts`.
        **kwargs: As for `Agent`. A `system_message` is put in front of the task.
    """

    def __init__(
        self,
        function_list: Any = None,
        llm: Any = None,
        agents: Sequence[Agent] | None = None,
        name: str | None = None,
        description: str | None = None,
        prompts: Prompts | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(function_list, llm, name=name, description=description, **kwargs)
        self._members = check_members(agents, type(self).__name__)
        check_prompts(prompts)
        self._prompts = dict(prompts or {})

    def _run(
        self,
        messages: list[Message],
        lang: str = "en",
        candidates: Sequence[str] | None = None,
        tried: Sequence[Message] = (),
        **kwargs: Any,
    ) -> Iterator[list[Message]]:
        """One model call.

        Args:
            messages: The conversation.
            lang: Language of the task.
            candidates: Names to choose among; None is all.
            tried: Earlier answers and what was wrong with them.
        """
        members = [agent for agent in self._members if candidates is None or agent.name in candidates]
        task = prompt(self._prompts, "select", lang).format(
            roles=roles(members), participants=", ".join(agent.name or "" for agent in members)
        )
        own = [text_of(message) for message in messages if message.role == SYSTEM]
        talk = lines_of(messages) or prompt(self._prompts, "select_first", lang)
        yield from self._call_llm(
            [Message(SYSTEM, "\n\n".join([*filter(None, own), task])), Message(USER, talk), *tried],
            extra_generate_cfg={"lang": lang},
        )

    def choose(
        self, messages: Sequence[Message], candidates: Sequence[str], lang: str = "en", attempts: int = 3
    ) -> Choice:
        """Decides, asking again with an explanation when the answer is not one name.

        Args:
            messages: The conversation.
            candidates: Names to choose among.
            lang: Language of the task.
            attempts: Times the model is asked.

        Returns:
            The choice. After the last attempt: the candidate whose turn it is in the order of the members after
            the last speaker.
        """
        tried: list[Message] = []
        participants = ", ".join(candidates)
        for _ in range(attempts):
            reply = cast(
                "list[Message]",
                self.run_nonstream(list(messages), lang=lang, candidates=list(candidates), tried=tried),
            )
            names, stop = read_choice(reply, candidates)
            if stop:
                return Choice(None, f"{self._who()} ended the talk")
            if len(names) == 1:
                return Choice(names[0], f"chosen by {self._who()}")
            key = "select_many" if names else "select_none"
            wrong = prompt(self._prompts, key, lang).format(answer=", ".join(names), participants=participants)
            tried = [*tried, Message(ASSISTANT, _answer(reply) or "..."), Message(USER, wrong)]
        order = [agent.name or "" for agent in self._members]
        last = next((owner for owner in reversed(owners_of(messages, self._members)) if owner), None)
        start = order.index(last) + 1 if last in order else 0
        fallback = next(name for name in order[start:] + order[:start] if name in candidates)
        return Choice(fallback, f"{self._who()} named nobody in {attempts} answers; next in turn")

    def _who(self) -> str:
        return self.name or "the host"


def read_choice(reply: Sequence[Message], candidates: Sequence[str]) -> tuple[list[str], bool]:
    """What a host's answer says: the candidates it names, and whether it says that the talk is over.

    A candidate's name beats `[STOP]` only when it is the whole answer.
    """
    text = _answer(reply)
    if text.strip() in candidates:
        return [text.strip()], False
    if STOP in text.upper():
        return [], True
    return names_in(text, candidates), False


def _answer(reply: Sequence[Message]) -> str:
    """The text of a reply; thinking and tool calls are no answer."""
    return "\n".join(filter(None, (text_of(m) for m in reply if m.role == ASSISTANT and m.function_call is None)))
