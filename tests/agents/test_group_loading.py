"""Loading an agent or team that a program defines."""

import sys

import pytest

from qwen_agentkit.agents.group import check_team, load_agent

PROGRAM = """
from dataclasses import dataclass
from helper_of_the_program import NAMES
from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents.group_chat import GroupChat

@dataclass
class Settings:
    rounds: int = 2

def make():
    return GroupChat([BasicAgent(name=name) for name in NAMES], "round_robin", max_round=Settings().rounds)

def wants(argument):
    return None

team = make()
number = 7
if __name__ == "__main__":
    raise SystemExit("not run")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "helper_of_the_program.py").write_text('NAMES = ["a", "b"]')
    path = tmp_path / "my_program.py"
    path.write_text(PROGRAM)
    yield path
    for name in ("my_program", "helper_of_the_program"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["", ":team", ":make"])
def test_a_team_is_loaded_from_a_file_by_its_name_or_its_maker(program, name):
    team = load_agent(f"{program}{name}")
    assert team.agent_names == ["a", "b"]
    assert check_team(team) == []


def test_a_team_is_loaded_from_a_module(program, monkeypatch):
    monkeypatch.syspath_prepend(str(program.parent))
    assert load_agent("my_program:team").agent_names == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "says"),
    [(":number", "is no agent but int 7"), (":nothing", "has no nothing"), (":wants", "without arguments")],
)
def test_what_is_no_agent_is_refused(program, name, says):
    with pytest.raises(ValueError, match=says):
        load_agent(f"{program}{name}")


def test_a_file_or_module_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no file missing\.py"):
        load_agent("missing.py:team")
    with pytest.raises(ValueError, match="missing_module cannot be imported"):
        load_agent("missing_module:team")
