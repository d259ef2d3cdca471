"""Qwen's text models on DashScope."""

from __future__ import annotations

from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.dashscope_chat import DashScopeChat


@register_llm("qwen_dashscope")
class QwenChatAtDS(DashScopeChat):
    """A text model on DashScope; see `DashScopeChat`."""

    model = "qwen-max"
    native_tools = True
    native_json = True
