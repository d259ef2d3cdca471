"""Models behind OpenAI's protocol that see: images and video in messages."""

from __future__ import annotations

from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.oai import TextChatAtOAI


@register_llm("qwenvl_oai")
class QwenVLChatAtOAI(TextChatAtOAI):
    """A vision model behind OpenAI's protocol; local images are sent as `data:` addresses."""

    @property
    def support_multimodal_input(self) -> bool:
        return True
