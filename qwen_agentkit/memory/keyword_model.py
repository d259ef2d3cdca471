"""Which model makes search words: thinking models take long over them, so they hand the work to a quick one."""

from __future__ import annotations

from typing import Any

_THINKING = ("qwq", "qvq", "qwen3")


def keyword_model(llm: Any) -> Any:
    """The model for search words.

    Args:
        llm: The agent's model, a configuration, or None.

    Returns:
        For qwq, qvq and qwen3 on DashScope `qwen-turbo` with the same key and address; elsewhere for these None
        (the question is searched for as it stands); the model itself otherwise, and None for a model that writes
        nothing of its own.
    """
    if llm is None:
        return None
    if isinstance(llm, (dict, str)):
        from qwen_agentkit.llm import get_chat_model

        llm = get_chat_model(llm)
    model_type = getattr(llm, "model_type", "")
    if model_type == "extractive":
        return None
    name = str(getattr(llm, "model", "") or "").lower()
    if not any(word in name for word in _THINKING):
        return llm
    if not str(model_type).endswith("_dashscope"):
        return None
    from qwen_agentkit.llm import get_chat_model

    kept = {
        key: value
        for key, value in (getattr(llm, "cfg", None) or {}).items()
        if key in ("api_key", "base_http_api_url", "base_websocket_api_url")
    }
    return get_chat_model(
        {**kept, "model": "qwen-turbo", "model_type": "qwen_dashscope", "generate_cfg": {"max_input_tokens": 30000}}
    )
