"""`qwen-agentkit check` and `transcript`."""

import json
from pathlib import Path

import pytest

TALK = [
    {"role": "user", "name": "Ada", "content": "Shall we?"},
    {"role": "assistant", "name": "Ken", "content": "We <shall>."},
]
TEAM = """
print("loading")
from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents import GroupChat
from qwen_agentkit.agents.group import MaxRounds, SourceIs

number = 7
team = GroupChat([BasicAgent(name="ann"), BasicAgent(name="bob")], "round_robin", max_round=2)
stuck = GroupChat(
    [BasicAgent(name="ann"), BasicAgent(name="bob")], "round_robin", termination=SourceIs("cid") | MaxRounds(3)
)
"""


@pytest.fixture
def team(shell):
    Path("my_team.py").write_text(TEAM)
    return shell


def test_a_sound_team_is_status_0(team):
    done = team("check", "my_team.py:team")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing is wrong" in done.stderr


def test_a_team_that_cannot_work_is_status_1_and_json_is_all_on_standard_output(team):
    done = team("check", "my_team.py:stuck", "--json")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["level"] == "error"
    assert "'cid'" in finding["text"]
    assert done.stderr == "loading\n"
    assert team("check", "my_team.py:stuck").stdout.startswith("error: ")


def test_the_configuration_file_names_teams(team):
    Path("qwen-agentkit.toml").write_text('[agents]\ndesk = "my_team.py:team"')
    assert team("check", "desk").returncode == 0


def test_a_place_without_a_team_is_status_2(team):
    for place, told in [
        ("gone.py:team", "no file gone.py"),
        ("my_team.py:gone", "has no gone"),
        ("my_team.py:number", "is no agent"),
        ("nothing", "module:agent or file.py:agent"),
    ]:
        done = team("check", place)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_a_conversation_is_shown_and_exported(shell):
    Path("talk.json").write_text(json.dumps(TALK))
    assert "**Ken**\n\nWe <shall>." in shell("transcript", "talk.json").stdout
    assert [one["content"] for one in json.loads(shell("transcript", "talk.json", "--json").stdout)] == [
        "Shall we?",
        "We <shall>.",
    ]
    done = shell("transcript", "talk.json", "-o", "talk.html", "--title", "A & B")
    assert (done.returncode, done.stdout) == (0, "")
    page = Path("talk.html").read_text("utf-8")
    assert "<title>A &amp; B</title>" in page
    assert "We &lt;shall&gt;." in page
    assert shell("transcript", "-", "--form", "html", typed=json.dumps(TALK)).stdout.startswith("<!DOCTYPE html>")


def test_a_stored_conversation_has_a_transcript(shell):
    pytest.importorskip("sqlalchemy", reason="the extra `sessions` is not installed")
    from qwen_agentkit.schema import messages_from
    from qwen_agentkit.session import SessionStore

    with SessionStore() as store:
        store.session("plans").append(messages_from(TALK))
    assert shell("transcript", "--session", "plans").stdout.startswith("# Shall we?\n")


def test_what_is_no_conversation_is_status_2(shell):
    Path("other.json").write_text('{"no": "talk"}')
    for arguments in (["gone.json"], ["other.json"], [], ["other.json", "--form", "pdf"], ["resources"]):
        done = shell("transcript", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
