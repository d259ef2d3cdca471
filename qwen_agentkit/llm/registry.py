"""The registry of chat models, and choosing one by a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from qwen_agentkit.llm.server_override import redirected
from qwen_agentkit.utils.lazy import LazyRegistry

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel

_PACKAGE = "qwen_agentkit.llm"
_BUILT_IN = {
    "oai": f"{_PACKAGE}.oai:TextChatAtOAI",
    "azure": f"{_PACKAGE}.azure:TextChatAtAzure",
    "qwen_dashscope": f"{_PACKAGE}.qwen_dashscope:QwenChatAtDS",
    "qwenvl_dashscope": f"{_PACKAGE}.qwenvl_dashscope:QwenVLChatAtDS",
    "qwenaudio_dashscope": f"{_PACKAGE}.qwenaudio_dashscope:QwenAudioChatAtDS",
    "qwenvlo_dashscope": f"{_PACKAGE}.qwenvlo_dashscope:QwenVLoChatAtDS",
    "qwenvl_oai": f"{_PACKAGE}.qwenvl_oai:QwenVLChatAtOAI",
    "qwenomni_oai": f"{_PACKAGE}.qwenomni_oai:QwenOmniChatAtOAI",
    "transformers": f"{_PACKAGE}.transformers_llm:Transformers",
    "openvino": f"{_PACKAGE}.openvino:OpenVINO",
    "llama_cpp": f"{_PACKAGE}.llama_cpp:LlamaCpp",
    "extractive": f"{_PACKAGE}.extractive:ExtractiveChat",
}

# Name of a backend -> its class; a dict that lists every name and imports a class at first access.
LLM_REGISTRY = LazyRegistry(_BUILT_IN)

DASHSCOPE_COMPATIBLE = "https://dashscope.aliyuncs.com/compatible-mode/v1"

C = TypeVar("C", bound="type[BaseChatModel]")


def register_llm(model_type: str) -> Callable[[C], C]:
    """Class decorator that makes a chat model known under `model_type`; the newest of a name counts."""

    def register(cls: C) -> C:
        LLM_REGISTRY[model_type] = cls
        cls.model_type = model_type
        return cls

    return register


def get_chat_model(cfg: Mapping[str, Any] | str = "qwen-plus") -> BaseChatModel:
    """The chat model that a configuration names.

    The backend is chosen by, in this order: `model_type`; `azure_endpoint`; an address (`model_server`, `base_url` or
    `api_base`) that begins with http; `-vl`, `-audio` or `qwen` in the model's name (DashScope).

    Args:
        cfg: The configuration, or the name of a model. It is not changed.

    Raises:
        ValueError: No backend fits; the text names what would.
    """
    if isinstance(cfg, str):
        cfg = {"model": cfg}
    if not isinstance(cfg, Mapping):
        raise ValueError(f"The configuration of a model is a dict or a model's name, not {type(cfg).__name__}")
    chosen = dict(cfg)
    chosen["model_type"] = _backend_of(chosen)
    if chosen["model_type"] in ("oai", "qwenvl_oai", "qwenomni_oai"):
        for key in ("model_server", "base_url", "api_base"):
            if str(chosen.get(key) or "").strip() == "dashscope":
                chosen[key] = DASHSCOPE_COMPATIBLE
                chosen.setdefault("api_key", os.environ.get("DASHSCOPE_API_KEY"))
    if _is_built_in(chosen["model_type"]):
        chosen = redirected(chosen)
    return LLM_REGISTRY[chosen["model_type"]](chosen)


def _is_built_in(model_type: str) -> bool:
    """Whether a name still means the package's own class and not one that a user registered over it."""
    return model_type in _BUILT_IN and LLM_REGISTRY.origin(model_type) == tuple(_BUILT_IN[model_type].split(":"))


def _backend_of(cfg: Mapping[str, Any]) -> str:
    named = cfg.get("model_type")
    if named:
        if named not in LLM_REGISTRY:
            raise ValueError(f"model_type is one of {', '.join(sorted(LLM_REGISTRY))}, not {named!r}")
        return named
    if cfg.get("azure_endpoint"):
        return "azure"
    address = str(cfg.get("api_base") or cfg.get("base_url") or cfg.get("model_server") or "").strip()
    if address.startswith("http"):
        return "oai"
    if address and address != "dashscope":
        raise ValueError(f"The address of a model begins with http:// or https:// (or is 'dashscope'), not {address!r}")
    name = str(cfg.get("model") or "").lower()
    if "-vl" in name:
        return "qwenvl_dashscope"
    if "-audio" in name:
        return "qwenaudio_dashscope"
    if "qwen" in name:
        return "qwen_dashscope"
    raise ValueError(
        f"Which backend has the model {cfg.get('model')!r}? Name it by 'model_type' "
        f"({', '.join(sorted(LLM_REGISTRY))}) or give the server's address as 'model_server'"
    )
