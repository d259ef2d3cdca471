"""The examples of teams: run as they are, and rehearsed with scripted speakers."""

import importlib.util
from pathlib import Path

import pytest

from qwen_agentkit.agents.group import check_team, hands_over, rehearse, transcript
from qwen_agentkit.llm.history import check_history
from qwen_agentkit.testing import ScriptedChatModel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("team_*.py"))


@pytest.fixture
def example(monkeypatch, tmp_path):
    """Loads an example as a module, with its folder on the path as Python puts it there for a script."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)

    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def model():
    return ScriptedChatModel([])


def said(talk):
    return [message.content for message in talk.response]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "team_router"])
def test_what_an_example_leaves_is_a_valid_history(example, name):
    assert check_history(example(name).main()) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "team_router"])
def test_the_linter_has_no_error_to_report(example, name):
    assert [str(finding) for finding in check_team(example(name).build(model())) if finding.level == "error"] == []


def test_the_router_answers_by_rule_by_model_and_in_parts(example):
    module = example("team_router")
    models = module.scripted()
    answers = module.main(models)
    assert answers[:2] == ["It rains in Oslo at 8 degrees.", "42"]
    assert "Oslo" in answers[2]
    assert "42" in answers[2]
    # The rule was free: the router's model was asked for one choice, one plan and one answer.
    assert len(models["router"].requests) == 3


def test_the_photo_is_judged_with_both_findings(example):
    talk = rehearse(
        example("team_photo_check").build(model()),
        "A photo",
        {"eyes": ["Sun."], "weather": ["Rain."], "judge": [lambda seen: seen[-1].content]},
    )
    assert "eyes: Sun.\nweather: Rain." in said(talk)[-1]


def test_the_debate_ends_when_the_chair_closes_it_and_not_before(example):
    lines = {"Pro": ["CLOSED, I say", "yes"], "Contra": ["no", "no"], "Chair": ["Open.", "CLOSED"]}
    talk = rehearse(example("team_debate").build(model()), "Motion", lines)
    assert [turn.speaker for turn in talk.turns] == ["Pro", "Contra", "Chair"] * 2
    assert talk.stop_reason == "'CLOSED' was said by Chair"


def test_the_writer_is_sent_back_until_the_critic_is_content_or_the_steps_are_used_up(example):
    build = example("team_writer_critic").build
    lines = {"writer": ["a", "b"], "critic": ["REVISE: longer", "FINE"], "editor": ["b!"]}
    assert said(rehearse(build(model()), "Bell", lines)) == ["a", "REVISE: longer", "b", "FINE", "b!"]
    endless = {"writer": ["a"] * 9, "critic": ["REVISE"] * 9}
    assert rehearse(build(model()), "Bell", endless).stop_reason == "Maximum number of steps 9 reached"


def test_the_research_team_reads_asks_and_answers(example):
    module = example("team_research")
    models = module.scripted()
    team = module.build(models, ask=lambda messages: "A year ago.")
    talk = rehearse(team, "Is my motor still under guarantee?", {})
    assert said(talk)[-1].startswith("The guarantee of 27 months")
    knowledge = str(models["reader"].requests[-1].messages[0].content)
    assert "27 months" in knowledge
    assert "reader: The motor is guaranteed for 27 months" in transcript(talk).replace("**reader**\n\n", "reader: ")


def test_the_desk_passes_a_customer_on_until_somebody_answers(example):
    lines = {"front": [hands_over("technics")], "technics": ["Mended."]}
    talk = rehearse(example("team_support_desk").build(model()), "It leaks", lines)
    assert [turn.speaker for turn in talk.turns] == ["front", "technics"]
    circle = {"front": [hands_over("billing"), "Sorry, I cannot help."], "billing": [hands_over("front")]}
    assert [turn.speaker for turn in rehearse(example("team_support_desk").build(model()), "?", circle).turns] == [
        "front", "billing", "front"
    ]  # fmt: skip


def test_the_game_ends_with_three_in_a_row(example):
    response = example("team_two_players").main()
    assert "X WINS" in [message["content"] for message in response if message["role"] == "function"][-1]
    assert any("is not free" in message["content"] for message in response)
