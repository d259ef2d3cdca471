"""One switch for thinking, in each service's own spelling.

style            services                                what is sent
enable_thinking  DashScope and its compatible mode       enable_thinking: true
chat_template    vLLM, SGLang and most servers of one's  chat_template_kwargs: {enable_thinking: true}
                 own
effort           OpenAI, Azure, Ollama                   reasoning_effort: "none" (nothing to switch it on)
typed            DeepSeek, Zhipu, Moonshot, Volcengine   thinking: {type: "enabled"}
reasoning        OpenRouter                              reasoning: {enabled: true}
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

STYLES = ("enable_thinking", "chat_template", "effort", "typed", "reasoning")

_BY_HOST = {
    "aliyuncs.com": "enable_thinking",
    "siliconflow.cn": "enable_thinking",
    "siliconflow.com": "enable_thinking",
    "modelscope.cn": "enable_thinking",
    "openai.com": "effort",
    "azure.com": "effort",
    "deepseek.com": "typed",
    "bigmodel.cn": "typed",
    "z.ai": "typed",
    "moonshot.cn": "typed",
    "moonshot.ai": "typed",
    "volces.com": "typed",
    "openrouter.ai": "reasoning",
}
_OLLAMA_PORT = 11434


def style_of(address: str | None, given: str | None = None) -> str:
    """How the service at an address spells the switch.

    Args:
        address: Base address of an OpenAI-compatible service.
        given: The style that the configuration names; it counts.

    Raises:
        ValueError: There is no such style.
    """
    if given is not None:
        if given not in STYLES:
            raise ValueError(f"thinking_style is one of {', '.join(STYLES)}, not {given!r}")
        return given
    parts = urlsplit(address or "")
    host = parts.hostname or ""
    for domain, style in _BY_HOST.items():
        if host == domain or host.endswith("." + domain):
            return style
    return "effort" if parts.port == _OLLAMA_PORT else "chat_template"


def thinking_fields(thinking: bool | None, style: str) -> dict[str, Any]:
    """The fields of a request body that switch thinking on or off; none when it is left to the model."""
    if thinking is None:
        return {}
    if style == "enable_thinking":
        return {"enable_thinking": thinking}
    if style == "chat_template":
        return {"chat_template_kwargs": {"enable_thinking": thinking}}
    if style == "typed":
        return {"thinking": {"type": "enabled" if thinking else "disabled"}}
    if style == "reasoning":
        return {"reasoning": {"enabled": thinking}}
    # Models that think do so by themselves; naming an effort would make others refuse the request.
    return {} if thinking else {"reasoning_effort": "none"}
