"""Qwen's models on DashScope that hear: audio in messages."""

from __future__ import annotations

from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.qwenvl_dashscope import MultimodalDashScopeChat


@register_llm("qwenaudio_dashscope")
class QwenAudioChatAtDS(MultimodalDashScopeChat):
    """An audio model on DashScope."""

    model = "qwen-audio-turbo-latest"

    @property
    def support_multimodal_input(self) -> bool:
        return True

    @property
    def support_audio_input(self) -> bool:
        return True
