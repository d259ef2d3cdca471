"""`BaseFnCallModel`, the base class of Qwen-Agent's backends, under its import path.

Every chat model of this package calls functions, so there is nothing to add: a class written against
`BaseFnCallModel` gets its prompt object and its stop words, and all else from `BaseChatModel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.llm.base import BaseChatModel
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.fncall_prompts.base_fncall_prompt import BaseFnCallPrompt
from qwen_agentkit.llm.fncall_prompts.nous_fncall_prompt import NousFnCallPrompt
from qwen_agentkit.llm.fncall_prompts.qwen_fncall_prompt import QwenFnCallPrompt
from qwen_agentkit.llm.request import begin_in_prompt, is_beginning
from qwen_agentkit.schema import Message, messages_from

__all__ = ["BaseFnCallModel", "simulate_response_completion_with_chat"]


class _ReactFnCallPrompt(BaseFnCallPrompt):
    dialect_name = "react"


class _XmlFnCallPrompt(BaseFnCallPrompt):
    dialect_name = "xml"


class _FencedFnCallPrompt(BaseFnCallPrompt):
    dialect_name = "fenced"


class _NativeFnCallPrompt(BaseFnCallPrompt):
    dialect_name = "native"


_PROMPTS: dict[str, type[BaseFnCallPrompt]] = {
    kind.dialect_name: kind
    for kind in (
        NousFnCallPrompt,
        QwenFnCallPrompt,
        _ReactFnCallPrompt,
        _XmlFnCallPrompt,
        _FencedFnCallPrompt,
        _NativeFnCallPrompt,
    )
}


class BaseFnCallModel(BaseChatModel):
    """A chat model that calls functions by its prompt's text.

    Args:
        cfg: As for `BaseChatModel`; `generate_cfg["fncall_prompt_type"]` names the dialect, "nous" by default.

    Attributes:
        fncall_prompt: Writes tools into messages and reads calls out of replies.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        name = str(self.generate_cfg.get("fncall_prompt_type") or "nous")
        self.fncall_prompt: BaseFnCallPrompt = _PROMPTS[get_dialect(name).name]()


def simulate_response_completion_with_chat(messages: Sequence[Message | Mapping[str, Any]]) -> list[Message]:
    """Messages for a chat service that cannot go on from a beginning of the answer.

    When the last message is the assistant's, its text is put behind the user's message before it, so that the reply
    goes on from there.
    """
    held = messages_from(messages)
    return begin_in_prompt(held) if is_beginning(held) else held
