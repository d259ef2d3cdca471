"""A clean environment for models."""

import pytest

from qwen_agentkit.llm import answer, fallback, oai


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    """No key, no override, and nothing that an earlier test taught the process about a service."""
    for name in (
        *("OPENAI_API_KEY", "OPENAI_BASE_URL", "DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL", "DASHSCOPE_HTTP_URL"),
        *("QWEN_AGENTKIT_MODEL_SERVER", "QWEN_AGENTKIT_MODEL_SERVER_MODEL", "QWEN_AGENTKIT_MODEL_SERVER_API_KEY"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(answer, "_without_tools", set())
    monkeypatch.setattr(answer, "_without_schemas", set())
    monkeypatch.setattr(answer, "_warned", set())
    monkeypatch.setattr(oai, "_without_usage", set())
    monkeypatch.setattr(fallback, "breaker", fallback.CircuitBreaker())
