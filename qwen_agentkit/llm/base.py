"""`BaseChatModel`: what every chat model has in common.

A backend is small to write. It turns one request into deltas, and says what it can do::

    @register_llm("mine")
    class MyModel(BaseChatModel):
        def _deltas(self, request):
            for piece in my_service(request.messages, **request.generate_cfg):
                yield Delta(text=piece)

The base class does the rest: checking, history, length, tools in the prompt and their parsing, stop words, retries,
fallback, cache, usage, cancel. A class written for Qwen-Agent, with `_chat_stream` and `_chat_no_stream` in place
of `_deltas`, works as well, and so do overrides of the other hooks below in any backend.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm._transport import Pool
from qwen_agentkit.llm.answer import answer
from qwen_agentkit.llm.delta import Delta, steps_between
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.generate_cfg import (
    GenerateOptions,
    check_function_choice,
    merge_generate_cfgs,
    plain_functions,
)
from qwen_agentkit.llm.hooks import ModelHooks, overrides
from qwen_agentkit.llm.profiles import profile_of
from qwen_agentkit.llm.rate_limits import check_rate_limits
from qwen_agentkit.llm.registry import LLM_REGISTRY, get_chat_model, register_llm
from qwen_agentkit.llm.request import Ask, ModelRequest
from qwen_agentkit.llm.structured import output_form
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.utils.language import detect_language

__all__ = ["LLM_REGISTRY", "BaseChatModel", "Delta", "ModelRequest", "ModelServiceError", "register_llm"]


class BaseChatModel(ModelHooks):
    """A chat model.

    Args:
        cfg: Its configuration. Read here: `model`, `model_type`, `generate_cfg` (see `GenerateOptions`),
            `cache_dir`, `fallback` (configurations of further models), `rate_limits`, `compaction`, and whatever the
            backend reads. The dict is not changed.

    Attributes:
        model: Name of the model.
        model_type: Name of the backend in `LLM_REGISTRY`.
        generate_cfg: Generation settings of every call.
        max_retries: Times a failed request is made again.
        cfg: A copy of the configuration.
        address: Where the service is, None where that says nothing.
    """

    cfg: dict[str, Any]
    generate_cfg: dict[str, Any]
    cache_dir: str | None
    _fallback_cfgs: Sequence[BaseChatModel | Mapping[str, Any]]
    _fallbacks: Pool[list[BaseChatModel]]

    max_retries: int = 0
    # Whether tools are given in the service's own way when the configuration does not say.
    native_tools: bool = False
    # Whether the service takes a JSON schema for the answer.
    native_json: bool = False

    def __new__(cls, *args: Any, **kwargs: Any) -> BaseChatModel:
        # What a class that forgets super().__init__ needs all the same.
        model = super().__new__(cls)
        model.cfg = {}
        model.generate_cfg = {}
        model.cache_dir = None
        model._fallback_cfgs = []
        model._fallbacks = Pool()
        return model

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        if cfg is not None and not isinstance(cfg, Mapping):
            raise ValueError(f"The configuration of a model is a dict, not {type(cfg).__name__}")
        kept = {key: cfg[key] for key in ("http_client", "fallback", "compaction", "profile") if cfg and key in cfg}
        copied = copy.deepcopy({key: value for key, value in (cfg or {}).items() if key not in kept})
        self.cfg = {**copied, **kept}
        self.model = str(self.cfg.get("model") or self.model).strip()
        self.model_type = self.cfg.get("model_type") or self.model_type
        generate_cfg = {} if self.cfg.get("generate_cfg") is None else self.cfg["generate_cfg"]
        if not isinstance(generate_cfg, Mapping):
            raise ValueError(f"'generate_cfg' is a dict, not {type(generate_cfg).__name__}")
        self.generate_cfg = dict(generate_cfg)
        self.cache_dir = self.cfg.get("cache_dir") or self.generate_cfg.pop("cache_dir", None)
        self.max_retries = self.generate_cfg.pop("max_retries", 0)
        self._fallback_cfgs = self.cfg.get("fallback") or []
        if not isinstance(self._fallback_cfgs, (list, tuple)):
            raise ValueError("'fallback' is a list of configurations or models")
        if self.cfg.get("rate_limits"):
            check_rate_limits(self.cfg["rate_limits"])
        if self.cfg.get("compaction"):
            from qwen_agentkit.llm.compaction import compaction_from

            compaction_from(self.cfg["compaction"])
        profile_of(self)
        self.options()

    # ---- the public face

    def chat(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]] | None = None,
        stream: bool = True,
        delta_stream: bool = False,
        extra_generate_cfg: Mapping[str, Any] | None = None,
        response_format: Any = None,
    ) -> Any:
        """Asks the model.

        Args:
            messages: The conversation, `Message` objects or dicts. All dicts in gives dicts out.
            functions: Schemas of the tools it may call, with or without OpenAI's wrapper.
            stream: Whether the answer is handed over as it arrives.
            delta_stream: With `stream`: each list holds what is new, not the whole answer so far.
            extra_generate_cfg: Settings of this call, over those of the model; stop words are united.
            response_format: A dataclass, pydantic model or JSON schema that the answer must fit. Its value is in
                `extra["parsed"]` of the last message.

        Returns:
            With `stream`, an iterator of lists of messages, each the whole answer so far; else the list of messages:
            thinking, text, then one message a tool call.

        Raises:
            ValueError: The input cannot be meant.
            ModelServiceError: The model could not answer. A stream raises while it is read.
            RunCancelled: The run's cancel token was set.
            RunLimitExceeded: A limit of the run is reached.
        """
        as_dicts = bool(messages) and all(isinstance(message, dict) for message in messages)
        copied = self._taken(messages)
        if not copied:
            raise ValueError("At least one message is needed to ask a model; the list is empty")
        asked = dict(extra_generate_cfg or {})
        offered = plain_functions(functions)
        options = self.options(asked)
        check_function_choice(options.function_choice, offered)
        if options.function_choice == "none":
            offered = []
            asked["function_choice"] = "auto"
        ask = Ask(
            messages=copied,
            functions=offered,
            generate_cfg=asked,
            stream=stream,
            lang=options.lang or detect_language(copied),
            form=output_form(response_format) if response_format is not None else None,
        )
        snapshots = answer(self, ask)
        merged = merge_generate_cfgs(self.generate_cfg, asked)
        if not stream:
            *_, last = snapshots
            last = self._postprocess_messages(last, bool(offered), merged)
            return [message.model_dump() for message in last] if as_dicts else last
        if overrides(self, "_postprocess_messages"):
            snapshots = (self._postprocess_messages(one, bool(offered), merged) for one in snapshots)
        if delta_stream:
            snapshots = steps_between(snapshots)
        return _dicts(snapshots) if as_dicts else snapshots

    def quick_chat(self, prompt: str) -> str:
        """The answer's text to one user message."""
        *_, last = self.chat([Message("user", prompt)], stream=False)
        return last.content if isinstance(last.content, str) else "".join(item.text or "" for item in last.content)

    def quick_chat_oai(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The answer so far in the form of OpenAI's API, each time it has grown.

        Args:
            messages: Messages in that form.
            tools: Tools in that form.

        Yields:
            `{"choices": [{"message": {...}}], "usage": {...}}` with the whole message so far; tokens are 0 until the
            service has counted them.
        """
        from qwen_agentkit.llm.oai_messages import from_messages

        for reply in self.chat(messages_from(messages), functions=tools, stream=True):
            counted: dict[str, Any] = next(
                (one.extra["usage"] for one in reply if one.extra and one.extra.get("usage")), {}
            )
            usage = {key: counted.get(key) or 0 for key in ("completion_tokens", "prompt_tokens", "total_tokens")}
            yield {"choices": [{"message": from_messages(reply)}], "usage": usage}

    def raw_chat(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        functions: Sequence[Mapping[str, Any]] | None = None,
        stream: bool = True,
        generate_cfg: Mapping[str, Any] | None = None,
    ) -> Any:
        """`chat` with tools given in the service's own way.

        Args:
            messages, functions, stream: As for `chat`.
            generate_cfg: Settings of this call.
        """
        cfg = {**(generate_cfg or {}), "use_raw_api": True}
        return self.chat(messages, functions, stream=stream, extra_generate_cfg=cfg)

    def options(self, extra_generate_cfg: Mapping[str, Any] | None = None) -> GenerateOptions:
        """The framework's options for a call with these settings over the model's own."""
        return self.settings_of_call(extra_generate_cfg)[0]

    def settings_of_call(
        self, extra_generate_cfg: Mapping[str, Any] | None = None
    ) -> tuple[GenerateOptions, dict[str, Any]]:
        """The framework's options, and what goes on to the service, for a call with these settings."""
        base = {"max_retries": self.max_retries, **self.generate_cfg}
        return GenerateOptions.read(merge_generate_cfgs(base, extra_generate_cfg))

    def gives_tools_natively(self, options: GenerateOptions) -> bool:
        """Whether tools are given in the service's own way (True) or put into the prompt's text by a dialect."""
        if options.use_raw_api is not None:
            return options.use_raw_api
        if options.fncall_prompt_type is not None:
            return get_dialect(options.fncall_prompt_type).native
        return self.native_tools or settings.USE_RAW_API

    def takes_beginnings(self, options: GenerateOptions) -> bool:
        """Whether a request may end in the beginning of the answer, which the service then goes on from."""
        return False

    def overrides(self, hook: str) -> bool:
        """Whether the model's class has a hook of its own in place of the one here."""
        return overrides(self, hook)

    def fallbacks(self) -> list[BaseChatModel]:
        """The models of the configuration's `fallback`, made at first use."""
        return self._fallbacks.get(
            lambda: [one if isinstance(one, BaseChatModel) else get_chat_model(one) for one in self._fallback_cfgs]
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"


def _dicts(snapshots: Iterator[list[Message]]) -> Iterator[list[dict[str, Any]]]:
    for messages in snapshots:
        yield [message.model_dump() for message in messages]
