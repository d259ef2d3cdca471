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
from typing import Any, Literal

from qwen_agentkit import settings
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm._transport import Pool
from qwen_agentkit.llm.answer import answer
from qwen_agentkit.llm.delta import Delta, deltas_of, steps_between
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.generate_cfg import (
    GenerateOptions,
    check_function_choice,
    merge_generate_cfgs,
    plain_functions,
)
from qwen_agentkit.llm.media import fit_media
from qwen_agentkit.llm.profiles import profile_of
from qwen_agentkit.llm.rate_limits import check_rate_limits
from qwen_agentkit.llm.registry import LLM_REGISTRY, get_chat_model, register_llm
from qwen_agentkit.llm.reply import Reply
from qwen_agentkit.llm.request import Ask, ModelRequest, begin_in_prompt, is_beginning
from qwen_agentkit.llm.structured import output_form
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.utils.language import detect_language

__all__ = ["LLM_REGISTRY", "BaseChatModel", "Delta", "ModelRequest", "ModelServiceError", "register_llm"]


class BaseChatModel:
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

    model: str = ""
    model_type: str = ""
    max_retries: int = 0
    address: str | None = None
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
        if _overrides(self, "_postprocess_messages"):
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
            counted = next((one.extra["usage"] for one in reply if one.extra and one.extra.get("usage")), {})
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

    @property
    def support_multimodal_input(self) -> bool:
        """Whether the model takes images (and, by its kind, video) in messages."""
        return False

    @property
    def support_audio_input(self) -> bool:
        """Whether the model takes audio in messages."""
        return False

    @property
    def support_multimodal_output(self) -> bool:
        """Whether the model answers with more than text."""
        return False

    @property
    def service(self) -> str:
        """Model and address in one word: what is remembered of a service is kept under it."""
        return f"{self.model}@{self.address or self.model_type}"

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
        return _overrides(self, hook)

    def fallbacks(self) -> list[BaseChatModel]:
        """The models of the configuration's `fallback`, made at first use."""
        return self._fallbacks.get(
            lambda: [one if isinstance(one, BaseChatModel) else get_chat_model(one) for one in self._fallback_cfgs]
        )

    # ---- what a backend writes

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        """Makes one request and yields the reply as it arrives (one whole Delta without `request.stream`).

        The default serves classes written for Qwen-Agent, by their `_chat_stream` and `_chat_no_stream`.

        Raises:
            ModelServiceError: The request failed.
        """
        cfg = self._legacy_cfg(request)
        if request.stream and _overrides(self, "_chat_stream"):
            yield from deltas_of(self._chat_stream(request.messages, False, cfg))
        elif _overrides(self, "_chat_no_stream"):
            yield from deltas_of([self._chat_no_stream(request.messages, cfg)])
        elif _overrides(self, "_chat_stream"):
            *_, last = self._chat_stream(request.messages, False, cfg)
            yield from deltas_of([last])
        else:
            raise TypeError(
                f"{type(self).__name__} is no whole chat model: it defines neither _deltas(request) nor "
                "_chat_stream(messages, delta_stream, generate_cfg) and _chat_no_stream(messages, generate_cfg)"
            )

    # ---- the hooks that Qwen-Agent's models override

    def _chat_stream(
        self, messages: list[Message], delta_stream: bool, generate_cfg: dict[str, Any]
    ) -> Iterator[list[Message]]:
        """One streamed request; yields the whole reply so far (with `delta_stream` what is new)."""
        snapshots = self._snapshots(messages, generate_cfg, stream=True)
        return steps_between(snapshots) if delta_stream else snapshots

    def _chat_no_stream(self, messages: list[Message], generate_cfg: dict[str, Any]) -> list[Message]:
        """One request that is answered whole."""
        *_, last = self._snapshots(messages, generate_cfg, stream=False)
        return last

    def _chat(
        self, messages: list[Message], stream: bool, delta_stream: bool, generate_cfg: dict[str, Any]
    ) -> list[Message] | Iterator[list[Message]]:
        if stream:
            return self._chat_stream(messages, delta_stream, generate_cfg)
        return self._chat_no_stream(messages, generate_cfg)

    def _chat_with_functions(
        self,
        messages: list[Message],
        functions: list[dict[str, Any]],
        stream: bool,
        delta_stream: bool,
        generate_cfg: dict[str, Any],
        lang: Literal["en", "zh"],
    ) -> list[Message] | Iterator[list[Message]]:
        """One request with tools; `messages` already carry them where they are put into the text."""
        return self._chat(messages, stream, delta_stream, {**generate_cfg, "lang": lang})

    def _continue_assistant_response(
        self, messages: list[Message], generate_cfg: dict[str, Any], stream: bool
    ) -> list[Message] | Iterator[list[Message]]:
        """One request whose last message is the beginning of the answer."""
        return self._chat(begin_in_prompt(messages), stream, False, generate_cfg)

    def _preprocess_messages(
        self,
        messages: list[Message],
        lang: Literal["en", "zh"],
        generate_cfg: dict[str, Any],
        functions: list[dict[str, Any]] | None = None,
        use_raw_api: bool = False,
    ) -> list[Message]:
        """The messages as the service is to see them: media reduced to what it takes, tools put into the text.

        Args:
            messages: The conversation.
            lang: Language of what is added.
            generate_cfg: Read are `fncall_prompt_type`, `function_choice`, `parallel_function_calls`.
            functions: Schemas of the tools.
            use_raw_api: Tools are given in the service's own way, and messages keep their calls and results.
        """
        accepts = [kind for kind in ("image", "video") if self.support_multimodal_input]
        if self.support_audio_input:
            accepts.append("audio")
        fitted = fit_media(messages, accepts, announce=bool(functions), lang=lang)
        if use_raw_api:
            return fitted
        dialect = get_dialect(generate_cfg.get("fncall_prompt_type") or "nous")
        return dialect.prepare(
            fitted,
            functions or [],
            lang=lang,
            function_choice=generate_cfg.get("function_choice") or "auto",
            parallel=bool(generate_cfg.get("parallel_function_calls")),
        )

    def _postprocess_messages(
        self, messages: list[Message], fncall_mode: bool, generate_cfg: dict[str, Any]
    ) -> list[Message]:
        """A last change to each list of messages before the caller gets it."""
        return messages

    # ---- between the two

    def _taken(self, messages: Sequence[Message | Mapping[str, Any]]) -> list[Message]:
        """The conversation as messages. Nothing here changes a message, so `Message` objects are copied only for
        hooks of the user's own, which might: a long history is copied on every call of a tool loop otherwise."""
        plain = isinstance(messages, (list, tuple)) and all(isinstance(message, Message) for message in messages)
        if plain and not any(_overrides(self, hook) for hook in _HOOKS):
            return list(messages)  # type: ignore[arg-type]
        return messages_from(messages)

    def run_request(self, request: ModelRequest) -> Iterator[Delta]:
        """The deltas of one request, by whichever hook the class overrides."""
        cfg = self._legacy_cfg(request)
        lists: Any = None
        if request.functions and _overrides(self, "_chat_with_functions"):
            lang: Any = request.lang
            lists = self._chat_with_functions(request.messages, request.functions, request.stream, False, cfg, lang)
        elif request.continues and _overrides(self, "_continue_assistant_response"):
            lists = self._continue_assistant_response(request.messages, cfg, request.stream)
        elif _overrides(self, "_chat_stream" if request.stream else "_chat_no_stream"):
            lists = self._chat(request.messages, request.stream, False, cfg)
        if lists is None:
            return self._deltas(request)
        return deltas_of(lists if request.stream else [lists])

    def _legacy_cfg(self, request: ModelRequest) -> dict[str, Any]:
        """The settings as one dict, as Qwen-Agent hands them to `_chat_stream`."""
        cfg = dict(request.generate_cfg)
        if request.options.stop:
            cfg["stop"] = list(request.options.stop)
        if request.options.max_response_tokens is not None:
            cfg.setdefault("max_tokens", request.options.max_response_tokens)
        if request.options.thinking is not None and _overrides(self, "_deltas"):
            cfg["thinking"] = request.options.thinking
        if request.functions:
            cfg["tools"] = [{"type": "function", "function": function} for function in request.functions]
            cfg["tool_choice"] = request.options.function_choice
        return cfg

    def _snapshots(
        self, messages: list[Message], generate_cfg: dict[str, Any], stream: bool
    ) -> Iterator[list[Message]]:
        """Replies to a request that a hook makes itself, as growing lists."""
        cfg = dict(generate_cfg)
        functions = plain_functions(cfg.pop("tools", None))
        choice = cfg.pop("tool_choice", None)
        if isinstance(choice, str) and functions:
            cfg["function_choice"] = choice
        options, rest = GenerateOptions.read(cfg)
        request = ModelRequest(
            messages_from(messages), functions, options, rest, stream, detect_language(messages), is_beginning(messages)
        )
        reply = Reply(stop=options.stop, native_calls=bool(functions), service=self.service)
        for delta in self._deltas(request):
            reply.feed(delta)
            yield reply.messages()
        yield reply.finish()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"


_HOOKS = (
    "_chat_stream",
    "_chat_no_stream",
    "_chat_with_functions",
    "_continue_assistant_response",
    "_preprocess_messages",
)


def _overrides(model: BaseChatModel, hook: str) -> bool:
    return getattr(type(model), hook) is not getattr(BaseChatModel, hook)


def _dicts(snapshots: Iterator[list[Message]]) -> Iterator[list[dict[str, Any]]]:
    for messages in snapshots:
        yield [message.model_dump() for message in messages]
