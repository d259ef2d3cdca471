"""One server for every cloud model."""

import pytest

from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.llm.base import BaseChatModel, Delta, register_llm
from qwen_agentkit.llm.registry import LLM_REGISTRY
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.testing import ScriptedChatModel

HI = [{"role": "user", "content": "hi"}]


@pytest.fixture
def redirected(oai_server, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER", oai_server.url)
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER_API_KEY", "local key")
    oai_server.script = ["from the server"]
    return oai_server


@pytest.mark.parametrize(
    "cfg",
    [
        "qwen-plus",
        {"model": "qwen-max", "api_key": "secret"},
        {"model": "qwen-vl-max"},
        {"model": "qwen-audio-x"},
        {"model": "gpt-4o", "model_server": "https://api.openai.com/v1", "api_key": "secret"},
        {"model": "dep", "azure_endpoint": "https://h.azure.com", "api_key": "secret"},
        {"model": "x", "model_type": "qwenvlo_dashscope"},
    ],
)
def test_every_cloud_model_is_answered_by_it(redirected, cfg):
    model = get_chat_model(cfg)
    assert model.chat(HI, stream=False)[-1]["content"] == "from the server"
    assert redirected.seen[0].headers["Authorization"] == "Bearer local key"
    assert redirected.last["model"] == model.model


def test_the_model_can_be_named_too(redirected, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER_MODEL", "small")
    get_chat_model("qwen-max").chat(HI, stream=False)
    assert redirected.last["model"] == "small"


def test_fallbacks_are_redirected(redirected):
    down = ScriptedChatModel(
        [RuntimeError()], cfg={"fallback": [{"model": "qwen-max"}], "generate_cfg": {"transport_retries": 0}}
    )
    (second,) = down.fallbacks()
    assert second.chat(HI, stream=False)[-1]["content"] == "from the server"


def test_a_class_named_directly_is_redirected(redirected):
    from qwen_agentkit.llm import QwenChatAtDS, QwenVLChatAtDS, TextChatAtOAI

    for model in (
        TextChatAtOAI({"model": "m", "model_server": "https://api.openai.com/v1"}),
        QwenChatAtDS({"model": "qwen-max"}),
    ):
        assert model.chat(HI, stream=False)[-1]["content"] == "from the server"
    QwenVLChatAtDS({"model": "qwen-vl-max"}).chat(
        [Message("user", [ContentItem(image="http://h/x.png")])], stream=False
    )
    assert redirected.last["messages"][0]["content"][0]["type"] == "image_url"


def test_a_users_own_type_and_scripted_models_stay(redirected):
    @register_llm("of_this_test")
    class Mine(BaseChatModel):
        def _deltas(self, request):
            yield Delta(text="mine")

    try:
        assert get_chat_model({"model_type": "of_this_test"}).chat(HI, stream=False)[-1]["content"] == "mine"
        assert ScriptedChatModel(["s"]).chat(HI, stream=False)[-1]["content"] == "s"
    finally:
        del LLM_REGISTRY["of_this_test"]
    assert redirected.seen == []


def test_a_wrong_value_is_named(monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER", "localhost:80")
    with pytest.raises(ValueError, match="QWEN_AGENTKIT_MODEL_SERVER"):
        get_chat_model("qwen-max")
