"""`qwen-agentkit.toml`: what may stand in it, and what wins over it."""

import os

import pytest

from qwen_agentkit import settings
from qwen_agentkit.config_file import Config, find_config, load_config

WHOLE = """
model = "house"
workspace = "ws"
roots = ["papers", "/srv/handbooks"]

[models.house]
model = "qwen3:8b"
model_server = "http://localhost:11434/v1"
api_key_env = "HOUSE_KEY"
generate_cfg = { temperature = 0.2 }

[agents]
desk = "bots/support.py:team"
night = "my_bots:night"

[stores]
sessions = "sqlite:///kept/talks.sqlite"
index = "indexes/handbook"
embedder = { model = "text-embedding-v4" }

[settings]
DEFAULT_TOOL_TIMEOUT = 60
DEBUG = true
DEFAULT_RAG_SEARCHERS = ["keyword_search"]
"""


def written(folder, text):
    path = folder / "qwen-agentkit.toml"
    path.write_text(text, "utf-8")
    return path


def test_everything_is_read_and_paths_are_those_beside_the_file(tmp_path, monkeypatch):
    config = load_config(written(tmp_path, WHOLE))
    assert config.model == "house"
    assert config.index == str(tmp_path / "indexes/handbook")
    assert config.embedder == {"model": "text-embedding-v4"}
    assert config.place_of("desk") == f"{tmp_path}/bots/support.py:team"
    assert config.place_of("night") == "my_bots:night"
    assert config.place_of("other.py:x") == "other.py:x"
    monkeypatch.setenv("HOUSE_KEY", "k")
    assert config.model_config("house") == {
        "model": "qwen3:8b",
        "model_server": "http://localhost:11434/v1",
        "generate_cfg": {"temperature": 0.2},
        "api_key": "k",
    }
    assert config.model_config("qwen-max") is None


def test_settings_of_the_file_count_where_the_environment_has_none(tmp_path, monkeypatch):
    for name in settings.names():
        for prefix in settings.PREFIXES:
            monkeypatch.delenv(prefix + name, raising=False)
    config = load_config(written(tmp_path, WHOLE))
    environment = {"QWEN_AGENT_DEFAULT_TOOL_TIMEOUT": "5"}
    config.apply(environment)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert settings.DEFAULT_TOOL_TIMEOUT == 5
    assert settings.DEBUG is True
    assert settings.DEFAULT_RAG_SEARCHERS == ["keyword_search"]
    assert str(tmp_path / "ws") == settings.DEFAULT_WORKSPACE
    assert [str(tmp_path / "papers"), "/srv/handbooks"] == settings.ALLOWED_FOLDERS
    assert f"sqlite:///{tmp_path}/kept/talks.sqlite" == settings.SESSIONS


@pytest.mark.parametrize("address", ["postgresql+psycopg://app@db/agents", "sqlite:////var/talks.sqlite", "sqlite://"])
def test_other_store_addresses_stay_as_they_are(tmp_path, address):
    config = load_config(written(tmp_path, f'stores.sessions = "{address}"'))
    assert config.variables["SESSIONS"] == address


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = ", "is no TOML"),
        ("modle = 'x'", "no 'modle'"),
        ("model = 3", "model is text"),
        ("roots = 'papers'", "a list of folders"),
        ("models = 'x'", r"\[models\] is a table"),
        ("[models.a]\nmodel_server = 'http://x/v1'", "at least `model`"),
        ("[models.a]\nmodel = 'x'\napi_key = 'sk-1'", "models.a.api_key would keep a secret"),
        ("[models.a]\nmodel = 'x'\ngenerate_cfg = { headers = { token = 'x' } }", "token would keep a secret"),
        ("[stores]\nembedder = { model = 'x', api_key = 'sk-1' }", "stores.embedder.api_key would keep a secret"),
        ("[stores]\nindexes = 'x'", "no 'indexes'"),
        ("[settings]\nNOTHING = 1", "no 'NOTHING'"),
        ("[settings]\nMAX_LLM_CALL_PER_RUN = 'many'", "MAX_LLM_CALL_PER_RUN = 'many' cannot be used"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(tmp_path, text, told):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=told) as raised:
        load_config(path)
    assert str(path) in str(raised.value)
    assert "sk-1" not in str(raised.value)


def test_a_key_that_is_not_set_is_said_when_the_model_is_wanted(tmp_path, monkeypatch):
    monkeypatch.delenv("HOUSE_KEY", raising=False)
    config = load_config(written(tmp_path, WHOLE))
    with pytest.raises(ValueError, match="HOUSE_KEY, which is not set"):
        config.model_config("house")


def test_the_file_is_the_one_named_else_here_else_the_users_own(tmp_path, monkeypatch):
    home, here, named = tmp_path / "home", tmp_path / "here", tmp_path / "named.toml"
    here.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.delenv("QWEN_AGENTKIT_CONFIG", raising=False)
    assert find_config(here) is None
    (home / "qwen-agentkit").mkdir(parents=True)
    assert find_config(here) is None
    own = written(home / "qwen-agentkit", "")
    assert find_config(here) == own
    beside = written(here, "")
    assert find_config(here) == beside
    monkeypatch.setenv("QWEN_AGENTKIT_CONFIG", str(named))
    assert find_config(here) == named
    with pytest.raises(ValueError, match="cannot be read"):
        load_config()


def test_no_file_is_an_empty_configuration_that_sets_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("QWEN_AGENTKIT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    config = load_config()
    config.apply()
    assert config == Config()
    assert dict(os.environ) == before
