"""Qwen's models on DashScope that see and paint: images in messages and in answers."""

from __future__ import annotations

from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.qwenvl_dashscope import MultimodalDashScopeChat


@register_llm("qwenvlo_dashscope")
class QwenVLoChatAtDS(MultimodalDashScopeChat):
    """A model on DashScope whose answer's content may hold images (`ContentItem(image=...)`)."""

    model = "qwen-vl-max"

    @property
    def support_multimodal_input(self) -> bool:
        return True

    @property
    def support_multimodal_output(self) -> bool:
        return True
