"""Which backend a configuration chooses, and what it reads of it."""

import copy

import pytest

from qwen_agentkit.llm import LLM_REGISTRY, BaseChatModel, get_chat_model, register_llm
from qwen_agentkit.llm.registry import DASHSCOPE_COMPATIBLE


@pytest.mark.parametrize(
    ("cfg", "model_type"),
    [
        ({"model": "x", "model_type": "qwenvl_oai", "model_server": "http://h/v1"}, "qwenvl_oai"),
        ({"model": "qwen-max", "azure_endpoint": "https://h"}, "azure"),
        ({"model": "qwen-max", "model_server": "http://h/v1"}, "oai"),
        ({"model": "qwen-max", "base_url": "http://h/v1"}, "oai"),
        ({"model": "qwen-max", "api_base": "http://h/v1"}, "oai"),
        ({"model": "qwen-vl-max"}, "qwenvl_dashscope"),
        ({"model": "Qwen2-Audio-x"}, "qwenaudio_dashscope"),
        ({"model": "qwen-max", "model_server": "dashscope"}, "qwen_dashscope"),
        ({"model": "Qwen3-32B"}, "qwen_dashscope"),
    ],
)
def test_the_backend_is_chosen_in_the_order_of_the_rules(cfg, model_type):
    assert get_chat_model(cfg).model_type == model_type


def test_a_name_alone_is_a_configuration():
    model = get_chat_model("qwen-plus")
    assert (model.model, model.model_type) == ("qwen-plus", "qwen_dashscope")
    assert get_chat_model().model == "qwen-plus"


def test_the_callers_dict_stays_as_it_is():
    cfg = {"model": "qwen-max", "generate_cfg": {"max_retries": 3, "stop": ["a"], "cache_dir": "c"}}
    before = copy.deepcopy(cfg)
    model = get_chat_model(cfg)
    model.generate_cfg["seed"] = 1
    assert cfg == before


def test_read_attributes():
    model = get_chat_model({"model": "qwen-max", "generate_cfg": {"max_retries": 3, "top_p": 0.5}})
    assert model.max_retries == 3
    assert model.generate_cfg == {"top_p": 0.5}
    assert get_chat_model({"model": "qwen-max"}).max_retries == 0


@pytest.mark.parametrize(
    ("model_type", "model"),
    [
        ("oai", "gpt-4o-mini"),
        ("qwen_dashscope", "qwen-max"),
        ("qwenvl_dashscope", "qwen-vl-max"),
        ("qwenaudio_dashscope", "qwen-audio-turbo-latest"),
    ],
)
def test_default_models(model_type, model):
    assert get_chat_model({"model_type": model_type}).model == model


def test_the_address_is_the_first_of_three_keys():
    cfg = {"model": "m", "model_server": "http://c/v1", "base_url": "http://b/v1", "api_base": "http://a/v1"}
    assert get_chat_model(cfg).address == "http://a/v1"
    del cfg["api_base"]
    assert get_chat_model(cfg).address == "http://b/v1"
    del cfg["base_url"]
    assert get_chat_model(cfg).address == "http://c/v1"


def test_dashscope_as_server_of_an_oai_model_is_its_compatible_address(monkeypatch):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "k")
    model = get_chat_model({"model": "qwen-max", "model_type": "oai", "model_server": "dashscope"})
    assert (model.address, model.connection.api_key) == (DASHSCOPE_COMPATIBLE, "k")


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ({"model": "x", "model_type": "nope"}, "qwen_dashscope"),
        ({"model": "mystery"}, "model_server"),
        ({"model": "mystery", "model_server": "localhost:8000"}, "http://"),
        (7, "int"),
        ({"model": "qwen-max", "generate_cfg": {"max_retries": -1}}, "max_retries"),
        ({"model": "qwen-max", "generate_cfg": {"max_retries": "3"}}, "max_retries"),
        ({"model": "qwen-max", "generate_cfg": {"fncall_prompt_type": "nope"}}, "nous"),
        ({"model": "qwen-max", "generate_cfg": {"empty_reply": "panic"}}, "accept"),
        ({"model": "qwen-max", "generate_cfg": {"thinking": "yes"}}, "thinking"),
        ({"model": "qwen-max", "generate_cfg": []}, "generate_cfg"),
        ({"model": "qwen-max", "rate_limits": {"per_day": 7}}, "requests_per_minute"),
        ({"model": "qwen-max", "rate_limits": {"in_flight": 0}}, "in_flight"),
        ({"model": "qwen-max", "fallback": {"model": "x"}}, "list"),
        ({"model": "qwen-max", "timeout": 0}, "timeout"),
        ({"model": "qwen-max", "ca_file": "/no/such/file"}, "CA file"),
        ({"model": "qwen-max", "compaction": {"by": "magic"}}, "magic"),
        ({"model": "m", "model_server": "http://h/v1", "continuation": "x"}, "continuation"),
    ],
)
def test_a_mistake_is_named_when_the_model_is_made(cfg, said):
    with pytest.raises(ValueError, match=said):
        get_chat_model(cfg)


def test_every_built_in_name_is_listed_before_its_class_is_imported():
    assert {"oai", "azure", "qwen_dashscope", "transformers", "llama_cpp", "extractive"} <= set(LLM_REGISTRY)
    assert LLM_REGISTRY["oai"].__name__ == "TextChatAtOAI"


def test_a_registered_class_is_chosen_by_its_name():
    @register_llm("of_this_test")
    class Mine(BaseChatModel):
        """A model."""

    try:
        model = get_chat_model({"model": "m", "model_type": "of_this_test"})
        assert isinstance(model, Mine)
        assert model.model_type == "of_this_test"
    finally:
        del LLM_REGISTRY["of_this_test"]
