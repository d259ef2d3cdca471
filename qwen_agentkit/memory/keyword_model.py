"""Which model makes search words, and how much of a model's window passages may take.

Thinking models take long over search words, so they hand the work to a quick one.
"""

from __future__ import annotations

from typing import Any

_THINKING = ("qwq", "qvq", "qwen3")
# Share of a model's context window that passages may take.
_WINDOW_SHARE = 0.5


def within_window(tokens: int, llm: Any) -> int:
    """The budget of tokens for passages, bounded by the context window of the model that is to read them.

    Args:
        tokens: What is asked for.
        llm: A model, its configuration or name, or None.
    """
    if llm is None:
        return tokens
    from qwen_agentkit.llm.profiles import profile_for, profile_of

    profile = profile_for(str(llm.get("model") or "")) if isinstance(llm, dict) else profile_of(llm)
    if profile.context_window is None:
        return tokens
    return min(tokens, int(profile.context_window * _WINDOW_SHARE))


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
