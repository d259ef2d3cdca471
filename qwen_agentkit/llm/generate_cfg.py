"""The generation settings of one call: what the framework reads of them, and what goes on to the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from qwen_agentkit import settings
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.stop_words import stop_list


@dataclass(frozen=True)
class GenerateOptions:
    """The keys of `generate_cfg` that the framework itself reads. Every other key goes to the service as it is.

    Args:
        max_input_tokens: Tokens of history that a request may carry; 0 or less switches cutting off.
        max_retries: Times a request is made again that failed, also by a timeout or without a reason that is known.
        transport_retries: Times a request is made again that failed because of the connection or with status 408,
            409, 429 or 5xx, before anything of the answer was shown or where it can be gone on with (see
            `on_broken_stream`); `max_retries` counts when it is larger.
        retry_wait: Seconds before the first retry; each further one waits twice as long, with jitter.
        max_retry_wait: Seconds that one wait is at most. A service that asks for more is not waited for.
        on_broken_stream: After visible text, a retry or fallback continues from it (`continue`, where the backend
            can) or the error is raised (`raise`).
        empty_reply: What to do with a reply that has neither text nor call: ask again with a hint (`retry`), take
            it (`accept`), or ask the fallback models (`fallback`).
        empty_retries: Times that an empty reply is asked for again.
        max_response_tokens: Tokens of the answer, in each service's own spelling.
        thinking: Whether the model thinks; None leaves it to the model.
        thinking_style: Name in `llm.thinking.STYLES`, for an address that is not recognised.
        fncall_prompt_type: Dialect that puts tools into the prompt's text.
        use_raw_api: Whether tools are given in the service's own way; None chooses by backend.
        function_choice: `auto`, `none` or the name of the tool to be called.
        parallel_function_calls: Whether one reply may hold several calls; None leaves it to the dialect or service.
        thought_in_content: The model's text begins with its thinking.
        lang: `en` or `zh`, the language of the prompts around tools; None finds it by the messages.
        stop: Stop words.
        skip_stopword_postproc: Leaves finding stop words to the service.
        cache_dir: Folder where answers are kept.
        price: Money per million tokens: `{"input": 2.0, "cached": 0.5, "output": 8.0}`.
    """

    max_input_tokens: int = 0
    max_retries: int = 0
    transport_retries: int = 2
    retry_wait: float = 0.5
    max_retry_wait: float = 300.0
    on_broken_stream: Literal["continue", "raise"] = "continue"
    empty_reply: Literal["retry", "accept", "fallback"] = "retry"
    empty_retries: int = 2
    max_response_tokens: int | None = None
    thinking: bool | None = None
    thinking_style: str | None = None
    fncall_prompt_type: str | None = None
    use_raw_api: bool | None = None
    function_choice: str = "auto"
    parallel_function_calls: bool | None = None
    thought_in_content: bool = False
    lang: str | None = None
    stop: list[str] = field(default_factory=list)
    skip_stopword_postproc: bool = False
    cache_dir: str | None = None
    price: Mapping[str, float] | None = None

    @classmethod
    def read(cls, cfg: Mapping[str, Any]) -> tuple[GenerateOptions, dict[str, Any]]:
        """Splits `generate_cfg` into the framework's options and what is left for the service.

        Raises:
            ValueError: A value cannot be meant; the text says which and what is wanted.
        """
        own = {name: cfg[name] for name in _NAMES if cfg.get(name) is not None}
        # `incremental_output` is a matter of the DashScope backend, which always asks for it.
        rest = {key: value for key, value in cfg.items() if key not in _NAMES and key != "incremental_output"}
        own["stop"] = stop_list(own.get("stop"))
        own.setdefault("max_input_tokens", settings.DEFAULT_MAX_INPUT_TOKENS)
        for name in _COUNTS & own.keys():
            if isinstance(own[name], bool) or not isinstance(own[name], int):
                raise ValueError(f"generate_cfg[{name!r}] is a whole number, not {own[name]!r}")
        for name in ("max_retries", "transport_retries", "empty_retries"):
            if own.get(name, 0) < 0:
                raise ValueError(f"generate_cfg[{name!r}] is 0 or more, not {own[name]!r}")
        for name in ("retry_wait", "max_retry_wait"):
            value = own.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
                raise ValueError(f"generate_cfg[{name!r}] is seconds, 0 or more, not {value!r}")
        for name, words in _CHOICES.items():
            if name in own and own[name] not in words:
                raise ValueError(f"generate_cfg[{name!r}] is one of {', '.join(words)}, not {own[name]!r}")
        if "thinking" in own and not isinstance(own["thinking"], bool):
            raise ValueError(f"generate_cfg['thinking'] is True, False or None, not {own['thinking']!r}")
        if "fncall_prompt_type" in own:
            get_dialect(own["fncall_prompt_type"])
        return cls(**own), rest


_NAMES = frozenset(one.name for one in fields(GenerateOptions))
_COUNTS = frozenset({"max_input_tokens", "max_retries", "transport_retries", "empty_retries", "max_response_tokens"})
_CHOICES = {
    "on_broken_stream": ("continue", "raise"),
    "empty_reply": ("retry", "accept", "fallback"),
    "lang": ("en", "zh"),
}


def merge_generate_cfgs(base: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
    """`base` with the values of `new` over it; the stop words of both are united, `extra_body` is merged.

    A None in `new` takes the key away.
    """
    merged: dict[str, Any] = dict(base or {})
    for key, value in (new or {}).items():
        if key == "stop":
            merged[key] = stop_list(merged.get(key), value)
        elif key in ("extra_body", "extra_headers", "extra_query") and isinstance(value, Mapping):
            merged[key] = {**cast(dict, merged.get(key) or {}), **value}
        else:
            merged[key] = value
    return {key: value for key, value in merged.items() if value is not None}


def check_function_choice(choice: str, functions: list[dict[str, Any]]) -> None:
    """Raises ValueError when `function_choice` names no tool of `functions`."""
    names = [function.get("name") for function in functions]
    if choice not in ("auto", "none", *names):
        raise ValueError(
            f"function_choice is 'auto', 'none' or one of the tools ({', '.join(map(str, names)) or 'none given'}), "
            f"not {choice!r}"
        )


def plain_functions(functions: Any) -> list[dict[str, Any]]:
    """Tool schemas without OpenAI's `{"type": "function", "function": {...}}` around them.

    Raises:
        ValueError: An entry has no name.
    """
    plain: list[dict[str, Any]] = []
    for position, function in enumerate(functions or []):
        inner = function.get("function") if isinstance(function, Mapping) and "name" not in function else function
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
            raise ValueError(
                f"functions[{position}] is a dict with 'name', 'description' and 'parameters', not {function!r}"
            )
        plain.append(dict(inner))
    return plain
