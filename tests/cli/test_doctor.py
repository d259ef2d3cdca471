"""`qwen-agentkit doctor`."""

import json
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

from qwen_agentkit.cli import packages
from tests.cli.conftest import ROOT


def checks(done):
    return {(check["group"], check["name"]): check for check in json.loads(done.stdout)}


def test_a_machine_where_nothing_is_wrong_is_status_0(shell):
    done = shell("doctor", "--offline", "--json")
    found = checks(done)
    assert done.returncode == 0, done.stdout
    assert found["packages", "base"]["state"] == "fine"
    assert found["keys", "OPENAI_API_KEY"]["state"] == "absent"
    assert found["files", "index"]["todo"] == "qwen-agentkit index add FILES"
    assert {check["group"] for check in found.values()} == {"python", "packages", "extras", "keys", "files"}
    assert not Path("workspace").exists()


def test_servers_are_asked_and_keys_are_never_shown(shell, chat_server, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER", chat_server.url)
    monkeypatch.setenv("QWEN_AGENTKIT_MODEL_SERVER_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    done = shell("doctor", "--json")
    found = checks(done)
    assert done.returncode == 1
    assert found["servers", "QWEN_AGENTKIT_MODEL_SERVER"]["state"] == "fine"
    assert found["servers", "OpenAI"]["state"] == "wrong"
    assert "does not answer" in found["servers", "OpenAI"]["text"]
    assert found["keys", "OPENAI_API_KEY"]["state"] == "fine"
    assert "sk-secret" not in done.stdout + done.stderr + shell("doctor").stdout


def test_what_is_configured_and_broken_is_said_with_what_to_do(shell):
    Path("qwen-agentkit.toml").write_text(
        '[models.a]\nmodel = "x"\napi_key_env = "NO_SUCH_KEY"\n[stores]\nindex = "gone"\n'
        'sessions = "postgresql+psycopg://app:hidden@127.0.0.1:9/agents"\n'
    )
    done = shell("doctor", "--offline", "--quiet")
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert [line.split()[1:3] for line in lines] == [["keys", "model"], ["files", "index:"], ["files", "sessions:"]]
    assert done.stdout.count("do: ") == 3
    assert "hidden" not in done.stdout


def test_a_store_of_sessions_that_is_there_is_opened(shell):
    pytest.importorskip("sqlalchemy", reason="the extra `sessions` is not installed")
    shell("sessions", "list")
    assert checks(shell("doctor", "--offline", "--json"))["files", "sessions"]["state"] == "fine"


def installer():
    """What setup.py asks for: the packages of the base install, and of each extra."""
    told = {}
    setuptools = types.ModuleType("setuptools")
    setuptools.setup, setuptools.find_packages = lambda **given: told.update(given), lambda **given: []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "setuptools", setuptools)
        runpy.run_path(str(ROOT / "setup.py"))

    def named(requirements):
        return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}

    return named(told["install_requires"]), {name: named(wanted) for name, wanted in told["extras_require"].items()}


def test_the_packages_are_those_of_the_installer():
    base, extras = installer()
    assert set(packages.BASE) == base
    for name in ("all", "test", "test-full", "dev"):
        del extras[name]
    assert {extra: set(needed) for extra, (_, needed) in packages.EXTRAS.items()} == extras
