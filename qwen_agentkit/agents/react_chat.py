"""`ReActChat`: tools by the Thought / Action / Observation text protocol (Yao et al., arXiv:2210.03629)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agents.fncall_agent import FnCallAgent
from qwen_agentkit.agents.loop.endings import as_text
from qwen_agentkit.llm.dialects.react import STOP_WORDS
from qwen_agentkit.schema import ASSISTANT, FUNCTION, Message
from qwen_agentkit.utils.generate_cfg import merge_generate_cfgs

THOUGHT = "Thought: "

_ACTION = re.compile(r"^[^\S\n]*Action:[^\S\n]*(?P<name>[^\n]*?)[^\S\n]*\n[^\S\n]*Action Input:", re.MULTILINE)
_OBSERVATION = re.compile(r"^[^\S\n]*Observation:", re.MULTILINE)


class ReActChat(FnCallAgent):
    """A tool-using agent for models that only write text.

    The whole turn is one assistant message that begins with ``Thought: `` and grows: thoughts, actions,
    observations, answer. The loop, its limits and its guarantees are those of `FnCallAgent`, and so are the
    arguments.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extra_generate_cfg = merge_generate_cfgs(
            self.extra_generate_cfg, {"stop": list(STOP_WORDS), "fncall_prompt_type": "react"}
        )

    def _run(self, messages: list[Message], lang: str = "en", **kwargs: Any) -> Iterator[list[Message]]:
        for response in super()._run(messages, lang=lang, **kwargs):
            transcript = as_transcript(response)
            if transcript:
                yield transcript

    def _detect_tool(self, message: Message | str) -> tuple[bool, str | None, str | None, str]:
        """Reads a message, or a stretch of text: (is there an action, the tool, its input, the text before it).

        Of several actions in a text the last one counts; a missing `Observation:` is no matter.
        """
        if isinstance(message, Message):
            return super()._detect_tool(message)
        actions = list(_ACTION.finditer(message))
        if not actions or not actions[-1]["name"]:
            return False, None, None, message
        found = actions[-1]
        rest = message[found.end() :]
        observation = _OBSERVATION.search(rest)
        arguments = rest[: observation.start()] if observation else rest
        return True, found["name"].strip(), arguments.strip(), message[: found.start()].rstrip()


def as_transcript(response: list[Message]) -> list[Message]:
    """A tool-calling response as one assistant message of text; a response that only grows stays one that does.

    Messages of another agent that took over stay messages of their own behind it.
    """
    text, extra, expects_thought, reasoning = THOUGHT, None, True, ""
    rest: list[Message] = []
    for position, message in enumerate(response):
        if message.name and message.role == ASSISTANT:
            rest = response[position:]
            break
        if message.role == FUNCTION:
            text += f"\nObservation: {as_text(message.content)}"
            expects_thought = False
        elif message.function_call is not None:
            call = message.function_call
            text += f"\nAction: {call.name}\nAction Input: {call.arguments}"
            expects_thought = False
        else:
            reasoning += message.reasoning_content or ""
            said = as_text(message.content)
            if said and not expects_thought:
                text += f"\n{THOUGHT}"
            text += _without_thought(said)
            expects_thought = expects_thought and not said
        if message.extra:
            kept = {key: value for key, value in message.extra.items() if key != "function_id"}
            extra = {**(extra or {}), **kept} or extra
    if not response:
        return []
    return [Message(ASSISTANT, text, reasoning or None, extra=extra), *rest]


def _without_thought(text: str) -> str:
    """The text without a `Thought:` of the model's own at its start; of a half-written one nothing is shown yet."""
    lead = text.lstrip()
    mark = THOUGHT.strip()
    if lead.startswith(mark):
        return lead[len(mark) :].lstrip(" ")
    if mark.startswith(lead):
        return ""
    return text
