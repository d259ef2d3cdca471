"""The hooks that Qwen-Agent's models override, and how a request finds its way through them.

A model of one's own has `_deltas` (see `base`) or, as for Qwen-Agent, `_chat_stream` and `_chat_no_stream`. Both ways
serve each other: the default of one calls the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from qwen_agentkit.llm.delta import Delta, deltas_of, steps_between
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.generate_cfg import GenerateOptions, plain_functions
from qwen_agentkit.llm.media import fit_media
from qwen_agentkit.llm.reply import Reply
from qwen_agentkit.llm.request import ModelRequest, begin_in_prompt, is_beginning
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.utils.language import detect_language


class ModelHooks:
    """What a chat model's class may override, with what is done where it does not; the base of `BaseChatModel`."""

    model: str = ""
    model_type: str = ""
    address: str | None = None

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

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        """Makes one request and yields the reply as it arrives (one whole Delta without `request.stream`).

        The default serves classes written for Qwen-Agent, by their `_chat_stream` and `_chat_no_stream`.

        Raises:
            ModelServiceError: The request failed.
        """
        cfg = self._legacy_cfg(request)
        if request.stream and overrides(self, "_chat_stream"):
            yield from deltas_of(self._chat_stream(request.messages, False, cfg))
        elif overrides(self, "_chat_no_stream"):
            yield from deltas_of([self._chat_no_stream(request.messages, cfg)])
        elif overrides(self, "_chat_stream"):
            *_, last = self._chat_stream(request.messages, False, cfg)
            yield from deltas_of([last])
        else:
            raise TypeError(
                f"{type(self).__name__} is no whole chat model: it defines neither _deltas(request) nor "
                "_chat_stream(messages, delta_stream, generate_cfg) and _chat_no_stream(messages, generate_cfg)"
            )

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

    # ---- the way of a request

    def _taken(self, messages: Sequence[Message | Mapping[str, Any]]) -> list[Message]:
        """The conversation as messages. Nothing here changes a message, so `Message` objects are copied only for
        hooks of the user's own, which might: a long history is copied on every call of a tool loop otherwise."""
        plain = isinstance(messages, (list, tuple)) and all(isinstance(message, Message) for message in messages)
        if plain and not any(overrides(self, hook) for hook in _HOOKS):
            return cast("list[Message]", list(messages))
        return messages_from(messages)

    def run_request(self, request: ModelRequest) -> Iterator[Delta]:
        """The deltas of one request, by whichever hook the class overrides."""
        cfg = self._legacy_cfg(request)
        lists: Any = None
        if request.functions and overrides(self, "_chat_with_functions"):
            lang: Any = request.lang
            lists = self._chat_with_functions(request.messages, request.functions, request.stream, False, cfg, lang)
        elif request.continues and overrides(self, "_continue_assistant_response"):
            lists = self._continue_assistant_response(request.messages, cfg, request.stream)
        elif overrides(self, "_chat_stream" if request.stream else "_chat_no_stream"):
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
        if request.options.thinking is not None and overrides(self, "_deltas"):
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


_HOOKS = (
    "_chat_stream",
    "_chat_no_stream",
    "_chat_with_functions",
    "_continue_assistant_response",
    "_preprocess_messages",
)


def overrides(model: ModelHooks, hook: str) -> bool:
    """Whether the model's class has a hook of its own in place of the one here."""
    return getattr(type(model), hook) is not getattr(ModelHooks, hook)
