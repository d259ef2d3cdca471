"""What programs rely on is as it was frozen; a change that is meant is frozen with `python -m tests.api_contract`."""

import json

import pytest

from tests.api_contract import FROZEN, Shown, contract, described, signature

HELP = "If this is meant: name it in CHANGELOG.md, then `python -m tests.api_contract`."


@pytest.fixture(scope="module")
def now():
    return contract()


@pytest.fixture(scope="module")
def frozen():
    return json.loads(FROZEN.read_text("utf-8"))


def test_no_frozen_name_is_gone(now, frozen):
    assert sorted(frozen.keys() - now.keys()) == [], HELP


def test_no_frozen_signature_or_value_has_changed(now, frozen):
    changed = {
        place: {"was": was, "is": now[place]} for place, was in frozen.items() if place in now and now[place] != was
    }
    assert changed == {}, HELP


def test_the_frozen_names_are_those_that_programs_import(frozen):
    for place in ("Agent.run", "Agent._run", "Agent._call_llm", "agents.Router", "tools.BaseTool.call"):
        assert f"qwen_agentkit.{place}" in frozen
    assert frozen["qwen_agentkit.agents.Agent"] == "is qwen_agentkit.Agent"
    assert frozen["qwen_agentkit.llm.get_chat_model"] == "function(cfg='qwen-plus')"
    assert len(frozen) > 300


def test_a_changed_default_is_seen():
    def before(a, b=1):
        pass

    def after(a, b=2):
        pass

    assert signature(before) == "(a, b=1)" != signature(after)
    assert described(before) != described(after)
    assert repr(Shown(object())) == "<object>"
