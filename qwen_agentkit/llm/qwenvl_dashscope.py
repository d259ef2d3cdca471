"""Qwen's models on DashScope that see: images and video in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qwen_agentkit.llm.base import ModelRequest, register_llm
from qwen_agentkit.llm.dashscope_chat import DashScopeChat
from qwen_agentkit.llm.media import as_file_url
from qwen_agentkit.llm.oai_messages import to_oai_messages
from qwen_agentkit.schema import ContentItem


class MultimodalDashScopeChat(DashScopeChat):
    """A model behind DashScope's multimodal generation.

    Local images, audio and video are uploaded by the SDK; addresses go as they are.
    """

    def _service(self) -> Any:
        from dashscope import MultiModalConversation

        return MultiModalConversation

    def _wire_messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        # Roles, calls and results as in the text models; only the content has a form of its own.
        messages = to_oai_messages(request.messages, service=self.service, parts=dashscope_parts)
        for message in messages:
            content = message["content"]
            if isinstance(content, str):
                message["content"] = [{"text": content}] if content else []
        if request.continues:
            messages[-1]["partial"] = True
        return messages


def dashscope_parts(content: Sequence[ContentItem]) -> list[dict[str, Any]]:
    """Content items in DashScope's form: one key a part."""
    parts: list[dict[str, Any]] = []
    for item in content:
        kind, value = item.get_type_and_value()
        if kind == "text":
            parts.append({"text": value})
        elif isinstance(value, (list, tuple)):
            parts.append({kind: [as_file_url(one) for one in value]})
        elif isinstance(value, dict):
            parts.append({kind: value.get("url") or value.get("data")})
        else:
            parts.append({kind: as_file_url(value)})
    return parts


@register_llm("qwenvl_dashscope")
class QwenVLChatAtDS(MultimodalDashScopeChat):
    """A vision model on DashScope."""

    model = "qwen-vl-max"

    @property
    def support_multimodal_input(self) -> bool:
        return True
