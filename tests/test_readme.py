"""What README.md says is so: its programs run, its tables and its output are right."""

import ast
import os
import re

import pytest

from qwen_agentkit import settings
from qwen_agentkit.agents import BasicAgent
from qwen_agentkit.llm import get_chat_model
from tests.programs import ROOT, run_program
from tests.servers.model_server import Answer
from tests.servers.oai_server import OAIServer

README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, header and rule left out."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def reply(body: dict) -> Answer | str:
    """What a model might say to the programs: a call where a tool is offered, a name where one is asked for."""
    asked = body["messages"][-1]
    if body.get("tools") and asked["role"] == "user":
        return Answer(calls=[("weather", '{"city": "Oslo"}')])
    if asked["role"] == "tool":
        return "It is 21 degrees."
    return "27 months."


@pytest.fixture
def server():
    held = OAIServer()
    held.script = [reply]
    yield held
    held.close()


@pytest.mark.parametrize("program", blocks("python"))
def test_the_program_runs(program, server, tmp_path):
    done = run_program(program, server.url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert server.seen


@pytest.mark.parametrize("row", table("Models"), ids=lambda row: row[0])
def test_the_configuration_gives_a_model(row, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("QWEN_", "OPENAI_", "DASHSCOPE_")):
            monkeypatch.delenv(name)
    config = ast.literal_eval(row[1].strip("`"))
    if "`api_key`" in row[2] or "above" in row[2]:
        config["api_key"] = "sk-test"
    model = get_chat_model(config)
    assert model.model == config.get("model", model.model)


@pytest.mark.parametrize("row", table("Settings"), ids=lambda row: row[0])
def test_the_setting_has_the_default_that_is_said(row, monkeypatch):
    names = re.findall(r"`(\w+)`", row[0])
    defaults = row[1].split(", ") if len(names) > 1 else [row[1]]
    for name, said in zip(names, defaults, strict=True):
        for prefix in settings.PREFIXES:
            monkeypatch.delenv(prefix + name, raising=False)
        assert str(getattr(settings, name)).lower() in (said.strip("`").lower(), f"{said.strip('`').lower()}.0")


def test_the_extras_are_those_of_the_package():
    declared = set(re.findall(r'^ {4}"(\w+)": \[|^EXTRAS\["(\w+)"\]', (ROOT / "setup.py").read_text("utf-8"), re.M))
    said = {name for row in table("Extras") for name in re.findall(r"`(\w+)`", row[0])}
    assert said | {"all"} == {first or second for first, second in declared}  # `all` is named above the table


def test_the_addresses_of_the_server_are_those_it_answers(tmp_path):
    pytest.importorskip("fastapi", reason="the extra `server` is not installed")
    from qwen_agentkit.server import ServerOptions, create_app

    bot = BasicAgent(llm={"model_type": "extractive"}, name="bot")
    options = ServerOptions(store=f"sqlite:///{tmp_path}/s.sqlite", upload_folder=str(tmp_path / "uploads"))
    said = {address for row in table("A server and a page") for address in re.findall(r"`(/[^`]*)`", row[0])}
    assert len(said) > 10 and said <= set(create_app(bot, options).openapi()["paths"])


def test_the_commands_that_ci_runs_stand_here():
    for mark, command in [("install-and-ask", "qwen-agentkit ask"), ("test", "-m pytest")]:
        block = README.partition(f"<!-- {mark} -->\n```bash\n")[2].partition("\n```")[0]
        assert command in block


def test_everything_that_is_linked_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
