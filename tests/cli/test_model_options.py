"""From options and environment to a model's configuration."""

import pytest

from qwen_agentkit.cli.model_options import model_config
from qwen_agentkit.cli.status import WrongUse

SERVER = "QWEN_AGENTKIT_MODEL_SERVER"


@pytest.fixture(autouse=True)
def no_server_in_the_environment(monkeypatch):
    monkeypatch.delenv(SERVER, raising=False)
    monkeypatch.delenv(f"{SERVER}_API_KEY", raising=False)


def test_no_model_means_quoting():
    assert model_config(None, None, "sk-x") == {"model_type": "extractive"}
    assert model_config("extractive", None, None) == {"model_type": "extractive"}


def test_options_become_a_configuration():
    assert model_config("qwen-max", None, None) == {"model": "qwen-max"}
    assert model_config("m", "http://localhost:1/v1", "k") == {
        "model": "m",
        "model_server": "http://localhost:1/v1",
        "api_key": "k",
    }


def test_a_server_without_a_model_is_wrong_use():
    with pytest.raises(WrongUse, match="--model"):
        model_config(None, "http://localhost:1/v1", None)


def test_a_server_on_the_command_line_wins_over_the_environment(monkeypatch):
    from qwen_agentkit.llm import get_chat_model

    monkeypatch.setenv(SERVER, "http://127.0.0.1:2/v1")
    config = model_config("m", "http://127.0.0.1:1/v1", None)
    assert get_chat_model(config).address == "http://127.0.0.1:1/v1"


def test_any_model_may_be_named_when_the_environment_names_the_server(monkeypatch):
    from qwen_agentkit.llm import get_chat_model

    monkeypatch.setenv(SERVER, "http://127.0.0.1:2/v1")
    model = get_chat_model(model_config("some-model", None, "k"))
    assert (model.model, model.address) == ("some-model", "http://127.0.0.1:2/v1")
