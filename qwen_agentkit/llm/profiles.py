"""What is known of models: how much they take in, and what they can do.

A profile is a set of facts with overrides: the table below, what a program registers, and what a model's own
configuration says under `profile` (or `context_window`). What is not known is None and never assumed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from qwen_agentkit.log import logger

# Tokens kept free for the answer when a model's window bounds the input.
_ANSWER_SHARE = 0.25
_ANSWER_TOKENS = 4096


@dataclass(frozen=True)
class ModelProfile:
    """Facts about a model. None: not known.

    Args:
        context_window: Tokens of input and answer together.
        tools: It takes tools (natively or in the prompt) and calls them.
        vision: It takes images.
        audio: It takes sound.
        json: Its service takes a JSON schema for the answer.
        thinking: "always", "switch" (can be switched on and off) or "never".
    """

    context_window: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    audio: bool | None = None
    json: bool | None = None
    thinking: str | None = None

    def with_facts(self, facts: Mapping[str, Any]) -> ModelProfile:
        """The profile with some facts replaced.

        Raises:
            ValueError: A name is not a fact of a profile, or a value is not of its kind.
        """
        known = [one.name for one in fields(self)]
        for name, value in facts.items():
            if name not in known:
                raise ValueError(f"A model's profile has {', '.join(known)}; {name!r} is none of them")
            _check_fact(name, value)
        return replace(self, **facts)


def _check_fact(name: str, value: Any) -> None:
    if value is None:
        return
    if name == "context_window":
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise ValueError(f"context_window is a number of tokens above 0, not {value!r}")
    elif name == "thinking":
        if value not in ("always", "switch", "never"):
            raise ValueError(f"thinking is 'always', 'switch' or 'never', not {value!r}")
    elif not isinstance(value, bool):
        raise ValueError(f"{name} is true or false, not {value!r}")


_K = 1024

# Patterns over the lower-cased model name, the first that is found counts. Windows are those that the makers state
# for the model as served by default.
_TABLE: list[tuple[str, ModelProfile]] = [
    (r"qwen-?3-?vl|qwen3\.5", ModelProfile(256 * _K, True, True, False, True, "switch")),
    (r"qwen-?(2\.5-?|2-?)?-?vl-max|qwen-vl-plus", ModelProfile(128 * _K, None, True, False, None, "never")),
    (r"qwen-?2\.5-?vl|qwen-?2-?vl|qwen-vl", ModelProfile(32 * _K, None, True, False, None, "never")),
    (r"qvq", ModelProfile(128 * _K, None, True, False, None, "always")),
    (r"qwen[\d.]*-?omni", ModelProfile(32 * _K, None, True, True, None, None)),
    (r"qwen[\d.]*-?audio", ModelProfile(8 * _K, None, False, True, None, "never")),
    (r"qwen-?3-?coder", ModelProfile(256 * _K, True, False, False, True, "never")),
    (r"qwen-?3-?next|qwen3-.*2507", ModelProfile(256 * _K, True, False, False, True, None)),
    (r"qwen-?3-max", ModelProfile(256 * _K, True, False, False, True, None)),
    (r"qwen-?3[-:]?(0\.6|1\.7|4)b", ModelProfile(32 * _K, True, False, False, True, "switch")),
    (r"qwen-?3", ModelProfile(128 * _K, True, False, False, True, "switch")),
    (r"qwq", ModelProfile(128 * _K, True, False, False, None, "always")),
    (r"qwen-long", ModelProfile(10_000_000, None, False, False, None, "never")),
    (r"qwen-(plus|turbo|flash)", ModelProfile(128 * _K, True, False, False, True, "switch")),
    (r"qwen-max", ModelProfile(32 * _K, True, False, False, True, "never")),
    (r"qwen-?2\.5-?(coder|math)?[-:]?(0\.5|1\.5|3)b", ModelProfile(32 * _K, True, False, False, True, "never")),
    (r"qwen-?2\.5", ModelProfile(128 * _K, True, False, False, True, "never")),
    (r"qwen-?2|qwen-?1\.5", ModelProfile(32 * _K, True, False, False, None, "never")),
    (r"gpt-5", ModelProfile(400_000, True, True, False, True, "switch")),
    (r"gpt-4\.1", ModelProfile(1_000_000, True, True, False, True, "never")),
    (r"gpt-4o.*audio", ModelProfile(128_000, True, False, True, False, "never")),
    (r"gpt-4o|gpt-4-(turbo|1106|0125)", ModelProfile(128_000, True, True, False, True, "never")),
    (r"gpt-4", ModelProfile(8192, True, False, False, False, "never")),
    (r"gpt-3\.5", ModelProfile(16_385, True, False, False, False, "never")),
    (r"\bo[134](-|$)", ModelProfile(200_000, True, True, False, True, "always")),
    (r"gpt-oss", ModelProfile(128 * _K, True, False, False, None, "always")),
    (r"deepseek-(r1|reasoner)", ModelProfile(64 * _K, None, False, False, None, "always")),
    (r"deepseek", ModelProfile(64 * _K, True, False, False, None, None)),
    (r"claude", ModelProfile(200_000, True, True, False, None, "switch")),
    (r"gemini", ModelProfile(1_000_000, True, True, True, True, None)),
    (r"llama-?3\.[123]", ModelProfile(128 * _K, True, None, False, None, "never")),
    (r"llama-?3", ModelProfile(8192, None, False, False, None, "never")),
    (r"smollm2", ModelProfile(8192, None, False, False, None, "never")),
    (r"phi-3-mini-4k", ModelProfile(4096, None, False, False, None, "never")),
    (r"tinyllama", ModelProfile(2048, None, False, False, None, "never")),
    (r"mistral-7b|mixtral-8x7b", ModelProfile(32 * _K, True, False, False, None, "never")),
    (r"glm-4\.5|glm-4\.6", ModelProfile(128 * _K, True, False, False, None, "switch")),
]

_registered: list[tuple[re.Pattern[str], ModelProfile]] = []
_compiled: list[tuple[re.Pattern[str], ModelProfile]] = [(re.compile(pattern), profile) for pattern, profile in _TABLE]
_warned: set[tuple[str, int]] = set()
_lock = threading.Lock()


def register_profile(pattern: str, profile: ModelProfile) -> None:
    """Makes a profile known for models whose name a regular expression is found in (upper and lower case alike).

    The newest registration counts first, and all of them before the built-in table.
    """
    _registered.insert(0, (re.compile(pattern, re.IGNORECASE), profile))


def profile_for(name: str) -> ModelProfile:
    """The profile of a model by its name; an empty one when nothing is known."""
    lowered = name.lower()
    for pattern, profile in [*_registered, *_compiled]:
        if pattern.search(lowered):
            return profile
    return ModelProfile()


def profile_of(model: Any) -> ModelProfile:
    """The profile of a chat model: its name's, with what its configuration says.

    Args:
        model: A chat model (read are `model` and `cfg`), or a model's name.

    Raises:
        ValueError: The configuration's `profile` holds what a profile has not.
    """
    if isinstance(model, str):
        return profile_for(model)
    profile = profile_for(str(getattr(model, "model", "") or ""))
    cfg = getattr(model, "cfg", None)
    if not isinstance(cfg, Mapping):
        return profile
    facts = cfg.get("profile")
    if isinstance(facts, ModelProfile):
        profile = facts
    elif isinstance(facts, Mapping):
        profile = profile.with_facts(facts)
    elif facts is not None:
        raise ValueError(f"'profile' is a dict of facts or a ModelProfile, not {facts!r}")
    if cfg.get("context_window") is not None:
        profile = profile.with_facts({"context_window": cfg["context_window"]})
    return profile


def bounded_input_tokens(model: Any, max_input_tokens: int, max_response_tokens: int | None = None) -> int:
    """The tokens of input that a model really has room for.

    Args:
        model: A chat model, or a model's name.
        max_input_tokens: What is asked for; 0 or less means no limit.
        max_response_tokens: Tokens that the answer may have; a quarter of the window, at most 4096, when not known.

    Returns:
        `max_input_tokens`, or what the model's window leaves beside the answer when that is less. One warning a
        model says so. With no limit asked for, and where the window is not known, the same as asked for.
    """
    profile = profile_of(model)
    window = profile.context_window
    if window is None or max_input_tokens <= 0:
        return max_input_tokens
    answer = max_response_tokens or min(_ANSWER_TOKENS, int(window * _ANSWER_SHARE))
    room = max(window - answer, window // 4)
    if room >= max_input_tokens:
        return max_input_tokens
    name = model if isinstance(model, str) else str(getattr(model, "model", ""))
    with _lock:
        first = (name, room) not in _warned
        _warned.add((name, room))
    if first:
        logger.warning(
            "The context of the model %s holds %d tokens, so its input is kept to %d tokens and not %d",
            name,
            window,
            room,
            max_input_tokens,
        )
    return room
