"""What is known of models, and how it bounds their input."""

from __future__ import annotations

import pytest

from qwen_agentkit.llm import profiles
from qwen_agentkit.llm.profiles import ModelProfile, bounded_input_tokens, profile_for, profile_of, register_profile
from qwen_agentkit.testing import ScriptedChatModel


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(profiles, "_registered", [])
    monkeypatch.setattr(profiles, "_warned", set())


@pytest.mark.parametrize(
    ("name", "window", "vision", "thinking"),
    [
        ("qwen-max", 32768, False, "never"),
        ("Qwen/Qwen3-8B", 131072, False, "switch"),
        ("qwen3:1.7b", 32768, False, "switch"),
        ("Qwen3-Coder-30B-A3B-Instruct", 262144, False, "never"),
        ("qwen2.5-vl-7b-instruct", 32768, True, "never"),
        ("qwq-32b", 131072, False, "always"),
        ("gpt-4o-mini", 128000, True, "never"),
        ("o3-mini", 200000, True, "always"),
        ("deepseek-r1", 65536, False, "always"),
        ("SmolLM2-360M-Instruct", 8192, False, "never"),
    ],
)
def test_known_models(name, window, vision, thinking):
    profile = profile_for(name)
    assert (profile.context_window, profile.vision, profile.thinking) == (window, vision, thinking)


def test_of_an_unknown_model_nothing_is_assumed():
    assert profile_for("my-own-model") == ModelProfile()
    assert bounded_input_tokens("my-own-model", 58000) == 58000


def test_a_registered_profile_comes_first():
    register_profile("^MY-", ModelProfile(context_window=4096))
    assert profile_for("my-own-model").context_window == 4096
    register_profile("qwen-max", ModelProfile(context_window=1000))
    assert profile_for("qwen-max").context_window == 1000


def test_a_models_configuration_overrides():
    model = ScriptedChatModel([])
    model.model = "qwen-max"
    assert profile_of(model).context_window == 32768
    model.cfg["profile"] = {"vision": True}
    assert profile_of(model).vision and profile_of(model).context_window == 32768
    model.cfg["context_window"] = 2048
    assert profile_of(model).context_window == 2048
    model.cfg["profile"] = ModelProfile(tools=False)
    assert profile_of(model) == ModelProfile(context_window=2048, tools=False)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"colour": "red"}, "'colour'"),
        ({"context_window": 0}, "context_window"),
        ({"context_window": "8k"}, "context_window"),
        ({"vision": "yes"}, "vision"),
        ({"thinking": "often"}, "thinking"),
        (5, "'profile'"),
    ],
)
def test_a_wrong_fact_says_what_is_wrong(facts, problem):
    model = ScriptedChatModel([])
    model.cfg["profile"] = facts
    with pytest.raises(ValueError, match=problem):
        profile_of(model)


def test_a_small_window_bounds_the_input_with_one_warning(caplog):
    assert bounded_input_tokens("tinyllama", 58000) == 1536
    assert bounded_input_tokens("tinyllama", 58000) == 1536
    assert len([record for record in caplog.records if "tinyllama" in record.getMessage()]) == 1


def test_the_answers_tokens_are_kept_free():
    assert bounded_input_tokens("gpt-4", 58000, max_response_tokens=1000) == 7192
    assert bounded_input_tokens("gpt-4", 58000, max_response_tokens=8000) == 2048


def test_what_fits_and_what_is_unbounded_stays():
    assert bounded_input_tokens("qwen-plus", 58000) == 58000
    assert bounded_input_tokens("tinyllama", 0) == 0
