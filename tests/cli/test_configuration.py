"""The configuration file under the command line: flags win over the environment, and that over the file."""

import json
from pathlib import Path

import pytest

from qwen_agentkit.config_file import load_config
from tests.cli.conftest import ROOT

QUESTION = "How long is the motor guaranteed?"


@pytest.fixture
def asked(shell, chat_server):
    """Asks with a file that names a model on the server; gives the request's model and key."""
    Path("qwen-agentkit.toml").write_text(
        f"""
        model = "house"
        [models.house]
        model = "qwen3"
        model_server = "{chat_server.url}"
        api_key_env = "HOUSE_KEY"
        [models.other]
        model = "qwen3-other"
        model_server = "{chat_server.url}"
        """
    )

    def ask(*flags):
        chat_server.script = ["27 months."]
        done = shell("ask", "resources/meeting_notes.md", QUESTION, "--json", *flags)
        assert done.returncode == 0, done.stderr
        request = chat_server.seen[-1]
        headers = {name.lower(): value for name, value in request.headers.items()}
        return request.body["model"], headers.get("authorization")

    return ask


def test_the_model_of_the_file_answers_with_the_key_of_its_variable(asked, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", "sk-house")
    assert asked() == ("qwen3", "Bearer sk-house")


def test_the_environment_names_another_model_of_the_file_and_a_flag_wins_over_it(asked, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", "sk-house")
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL", "other")
    assert asked()[0] == "qwen3-other"
    assert asked("--model", "house")[0] == "qwen3"


def test_a_key_of_the_file_goes_to_no_server_that_a_flag_names(asked, chat_server, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", "sk-house")
    model, key = asked("--model-server", chat_server.url.replace("127.0.0.1", "localhost"))
    assert model == "qwen3"
    assert "sk-house" not in str(key)


def test_a_key_that_is_not_set_is_one_line_and_status_2(shell):
    Path("qwen-agentkit.toml").write_text(
        'model = "a"\n[models.a]\nmodel = "x"\nmodel_server = "http://127.0.0.1:9/v1"\napi_key_env = "NO_SUCH_KEY"\n'
    )
    done = shell("ask", "resources/meeting_notes.md", QUESTION)
    assert done.returncode == 2
    assert "NO_SUCH_KEY, which is not set" in done.stderr


def test_that_a_file_chose_the_model_is_said(shell):
    Path("qwen-agentkit.toml").write_text('model = "extractive"')
    question = ("ask", "resources/meeting_notes.md", QUESTION)
    assert "The model is extractive, as " in shell(*question).stderr
    assert shell(*question, "--quiet").stderr == ""
    assert shell(*question, "--model", "extractive").stderr == ""


def test_the_file_that_the_manual_shows_is_understood(tmp_path):
    text = (ROOT / "README.md").read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "shown.toml").write_text(text, "utf-8")
    config = load_config(tmp_path / "shown.toml")
    assert config.model in config.models
    assert config.variables["DEFAULT_TOOL_TIMEOUT"] == "60"


def test_the_index_of_the_file_needs_no_flag(shell):
    Path("mine.toml").write_text('workspace = "ws"\n[stores]\nindex = "indexes/notes"\n')
    done = shell("--config", "mine.toml", "index", "add", "resources/meeting_notes.md", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["index"].endswith("/indexes/notes")
    assert Path("ws").is_dir()
    assert json.loads(shell("--config", "mine.toml", "index", "stats", "--json").stdout)["documents"] == 1
    assert not Path("workspace").exists()


def test_a_file_that_is_not_understood_is_status_2_for_all_but_the_doctor(shell):
    Path("qwen-agentkit.toml").write_text("modle = 'x'")
    done = shell("clean")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no 'modle'" in done.stderr
    done = shell("doctor", "--offline", "--quiet")
    assert done.returncode == 1
    assert "no 'modle'" in done.stdout
