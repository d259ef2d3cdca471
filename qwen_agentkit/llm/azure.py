"""OpenAI's models on Azure."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.llm._transport import openai_http_client
from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.oai import TextChatAtOAI


@register_llm("azure")
class TextChatAtAzure(TextChatAtOAI):
    """A text model in an Azure deployment.

    Args:
        cfg: As of `TextChatAtOAI`, with the address as `azure_endpoint` and `api_version` (default `2024-06-01`);
            `model` is the deployment's name.
    """

    def _address(self) -> str:
        for key in ("azure_endpoint", "api_base", "base_url", "model_server"):
            given = str(self.cfg.get(key) or "").strip()
            if given:
                return given.rstrip("/")
        raise ValueError("A model on Azure needs 'azure_endpoint' in its configuration")

    def _make_client(self) -> Any:
        import openai

        return openai.AzureOpenAI(
            api_key=self.connection.api_key,
            azure_endpoint=str(self.address),
            api_version=self.cfg.get("api_version") or "2024-06-01",
            http_client=openai_http_client(self.connection),
            default_headers=dict(self.connection.headers) or None,
            max_retries=0,
        )
