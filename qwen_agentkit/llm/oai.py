"""Chat models behind OpenAI's protocol: OpenAI, vLLM, SGLang, Ollama, LM Studio, DeepSeek and the like."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from qwen_agentkit.llm._transport import Connection, Pool, openai_http_client
from qwen_agentkit.llm.base import BaseChatModel, Delta, ModelRequest, register_llm
from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.oai_messages import to_oai_messages, to_oai_tools
from qwen_agentkit.llm.oai_stream import Refused, chat_completion
from qwen_agentkit.llm.server_override import redirected
from qwen_agentkit.llm.structured import native_format
from qwen_agentkit.llm.thinking import style_of, thinking_fields
from qwen_agentkit.log import logger

DEFAULT_ADDRESS = "https://api.openai.com/v1"

# Addresses that do not know `stream_options`: they are not asked for usage again.
_without_usage: set[str] = set()


@register_llm("oai")
class TextChatAtOAI(BaseChatModel):
    """A text model behind OpenAI's Chat Completions protocol.

    Args:
        cfg: Beside what `BaseChatModel` reads: `model` (default `gpt-4o-mini`); the address as `api_base`, `base_url`
            or `model_server`, in this order; `api_key` (default: `OPENAI_API_KEY`, else `EMPTY`); the connection's
            settings (`llm._transport.Connection`); `continuation`, how the service goes on from the beginning of an
            answer: `partial` (DashScope, Moonshot), `prefix` (DeepSeek's beta address) or `vllm` (vLLM, SGLang).

    Everything in `generate_cfg` that the framework does not read goes into the request's body as it is;
    `extra_body`, `extra_headers` and `extra_query` work as in OpenAI's SDK, `request_timeout` is in seconds.
    """

    model = "gpt-4o-mini"
    native_tools = True
    native_json = True

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        cfg = dict(cfg or {})
        cfg.setdefault("model_type", type(self).model_type)
        super().__init__(redirected(cfg))
        self.address = self._address()
        self.connection = Connection.from_cfg(self.cfg, self.address, self._api_key())
        self._pool: Pool[Any] = Pool()
        self._continuation = self.cfg.get("continuation") or _continuation_of(self.address)
        if self._continuation not in (None, "partial", "prefix", "vllm"):
            raise ValueError(f"'continuation' is 'partial', 'prefix' or 'vllm', not {self._continuation!r}")

    def _address(self) -> str:
        for key in ("api_base", "base_url", "model_server"):
            given = str(self.cfg.get(key) or "").strip()
            if given:
                return given.rstrip("/")
        return (os.environ.get("OPENAI_BASE_URL") or DEFAULT_ADDRESS).rstrip("/")

    def _api_key(self) -> str:
        return str(self.cfg.get("api_key") or os.environ.get("OPENAI_API_KEY") or "EMPTY").strip()

    def _client(self) -> Any:
        """The SDK's client of this model, one for all its requests."""
        return self._pool.get(self._make_client)

    def _make_client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self.connection.api_key,
            base_url=self.address,
            http_client=openai_http_client(self.connection),
            default_headers=dict(self.connection.headers) or None,
            max_retries=0,
        )

    def takes_beginnings(self, options: GenerateOptions) -> bool:
        return self._continuation is not None

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        body, sdk_options = self._body(request)
        asks_for_usage = request.stream and "stream_options" not in body and self.address not in _without_usage
        if asks_for_usage:
            body["stream_options"] = {"include_usage": True}
        try:
            yield from self._completion(body, request.stream, sdk_options)
        except Refused as refused:
            if not (asks_for_usage and refused.names("stream_options", "include_usage")):
                raise refused.error from refused.error.exception
            logger.info("%s does not know stream_options; usage is estimated for it", self.address)
            _without_usage.add(str(self.address))
            del body["stream_options"]
            try:
                yield from self._completion(body, request.stream, sdk_options)
            except Refused as again:
                raise again.error from again.error.exception

    def _completion(self, body: dict[str, Any], stream: bool, sdk_options: dict[str, Any]) -> Iterator[Delta]:
        return chat_completion(
            self._client(), self.model, body, stream=stream, address=str(self.address), sdk_options=sdk_options
        )

    def _body(self, request: ModelRequest) -> tuple[dict[str, Any], dict[str, Any]]:
        """The request's body, and the options that are for the SDK and not for the service."""
        body = dict(request.generate_cfg)
        sdk_options: dict[str, Any] = {key: body.pop(key) for key in ("extra_headers", "extra_query") if key in body}
        timeout = body.pop("request_timeout", None) or body.pop("timeout", None)
        body.pop("timeout", None)
        if timeout is not None:
            sdk_options["timeout"] = float(timeout)
        extra_body = body.pop("extra_body", None) or {}
        options = request.options
        if options.stop:
            # OpenAI itself takes four; the others are found here.
            most = 4 if _host_is(self.address, "openai.com", "azure.com") else len(options.stop)
            body["stop"] = options.stop[:most]
        if options.max_response_tokens is not None:
            body[self._token_limit_name()] = options.max_response_tokens
        body.update(thinking_fields(options.thinking, style_of(self.address, options.thinking_style)))
        if request.functions:
            body["tools"] = to_oai_tools(request.functions)
            if options.function_choice != "auto":
                body["tool_choice"] = {"type": "function", "function": {"name": options.function_choice}}
            if options.parallel_function_calls is not None:
                body["parallel_tool_calls"] = options.parallel_function_calls
        if request.form is not None:
            body["response_format"] = native_format(request.form)
        for key, value in extra_body.items():
            held = body.get(key)
            body[key] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
        body["messages"] = to_oai_messages(
            request.messages, service=self.service, send_reasoning=_wants_reasoning_back(self.address)
        )
        if request.continues:
            self._mark_beginning(body)
        return body, sdk_options

    def _token_limit_name(self) -> str:
        # OpenAI's newer models refuse the older name; other servers know only that.
        return "max_completion_tokens" if _host_is(self.address, "openai.com", "azure.com") else "max_tokens"

    def _mark_beginning(self, body: dict[str, Any]) -> None:
        if self._continuation == "vllm":
            body.update(continue_final_message=True, add_generation_prompt=False)
        elif self._continuation is not None:
            body["messages"][-1][self._continuation] = True


def _host_is(address: str | None, *domains: str) -> bool:
    host = urlsplit(address or "").hostname or ""
    return any(host == domain or host.endswith("." + domain) for domain in domains)


def _continuation_of(address: str | None) -> str | None:
    if _host_is(address, "aliyuncs.com", "moonshot.cn", "moonshot.ai"):
        return "partial"
    if _host_is(address, "deepseek.com") and urlsplit(address or "").path.startswith("/beta"):
        return "prefix"
    return None


def _wants_reasoning_back(address: str | None) -> bool:
    """Services that ask for their thinking back while a tool loop lasts."""
    return _host_is(address, "deepseek.com", "moonshot.cn", "moonshot.ai")
