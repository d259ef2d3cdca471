"""What the chat models behind DashScope's own protocol have in common: key, address, request, reading the reply.

Key, address, headers and connection belong to the model object; nothing of the SDK's process-wide state is touched.
Format: https://help.aliyun.com/zh/model-studio/developer-reference/use-qwen-by-calling-api.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from qwen_agentkit.errors import ModelServiceError, RunCancelled
from qwen_agentkit.llm._transport import Connection, Pool, requests_session, run_interruptibly, shut_on_cancel
from qwen_agentkit.llm.base import BaseChatModel, Delta, ModelRequest, get_chat_model
from qwen_agentkit.llm.delta import ToolCallDelta, as_json_text
from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.oai_messages import to_oai_messages, to_oai_tools
from qwen_agentkit.llm.server_override import override_address
from qwen_agentkit.llm.service_errors import CERTIFICATE_WORDS, service_error
from qwen_agentkit.llm.structured import native_format
from qwen_agentkit.llm.thinking import thinking_fields
from qwen_agentkit.llm.usage import usage_of
from qwen_agentkit.log import logger
from qwen_agentkit.schema import ContentItem

DEFAULT_ADDRESS = "https://dashscope.aliyuncs.com/api/v1"

_NOTHING = object()


class DashScopeChat(BaseChatModel):
    """A chat model behind DashScope's own protocol.

    Args:
        cfg: Beside what `BaseChatModel` reads: `model`; `api_key` (default: `DASHSCOPE_API_KEY`);
            `base_http_api_url` (default: `DASHSCOPE_HTTP_URL`, else the public address); `workspace`; the
            connection's settings (`llm._transport.Connection`).

    `generate_cfg` beyond the framework's own keys goes to the SDK's call as it is; `request_timeout` is in seconds.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        cfg = dict(cfg or {})
        cfg.setdefault("model_type", type(self).model_type)
        super().__init__(cfg)
        given = self.cfg.get("base_http_api_url") or os.environ.get("DASHSCOPE_HTTP_URL") or DEFAULT_ADDRESS
        self.address = str(given).strip().rstrip("/")
        key = self.cfg.get("api_key") or os.environ.get("DASHSCOPE_API_KEY")
        self.connection = Connection.from_cfg(self.cfg, self.address, str(key).strip() if key else None)
        self._pool: Pool[RecordingSession] = Pool()
        # A class named directly is redirected too: see server_override.
        self._stand_in = get_chat_model({**self.cfg, "model": self.model}) if override_address() else None

    def takes_beginnings(self, options: GenerateOptions) -> bool:
        return True

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        if self._stand_in is not None:
            return self._stand_in._deltas(request)
        return self._call(self._parameters(request), request.stream)

    def _service(self) -> Any:
        """The SDK's class for this kind of model."""
        from dashscope import Generation

        return Generation

    def _wire_messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        messages = to_oai_messages(request.messages, service=self.service)
        if request.continues:
            messages[-1]["partial"] = True
        return messages

    def _parameters(self, request: ModelRequest) -> dict[str, Any]:
        parameters = dict(request.generate_cfg)
        parameters.update(parameters.pop("extra_body", None) or {})
        options = request.options
        timeout = parameters.pop("request_timeout", None) or parameters.pop("timeout", None) or self.connection.timeout
        parameters.pop("timeout", None)
        parameters["request_timeout"] = (self.connection.connect_timeout, float(timeout))
        headers = {**self.connection.headers, **(parameters.pop("extra_headers", None) or {})}
        if headers:
            parameters["headers"] = headers
        if self.cfg.get("workspace"):
            parameters["workspace"] = self.cfg["workspace"]
        if options.stop:
            parameters["stop"] = options.stop
        if options.max_response_tokens is not None:
            parameters["max_tokens"] = options.max_response_tokens
        parameters.update(thinking_fields(options.thinking, options.thinking_style or "enable_thinking"))
        if request.functions:
            parameters["tools"] = to_oai_tools(request.functions)
            if options.function_choice != "auto":
                parameters["tool_choice"] = {"type": "function", "function": {"name": options.function_choice}}
            if options.parallel_function_calls is not None:
                parameters["parallel_tool_calls"] = options.parallel_function_calls
        if request.form is not None:
            parameters["response_format"] = native_format(request.form)
        parameters["messages"] = self._wire_messages(request)
        if request.stream:
            parameters["incremental_output"] = True
        return parameters

    def _call(self, parameters: dict[str, Any], stream: bool) -> Iterator[Delta]:
        if not self.connection.api_key:
            raise service_error(
                model=self.model,
                address=self.address,
                kind="auth",
                message="there is no key: give 'api_key' in the model's configuration or set DASHSCOPE_API_KEY",
            )
        _quiet_sdk_log()
        session = self._pool.get(lambda: RecordingSession(requests_session(self.connection)))

        def begin() -> tuple[Any, Any, Any]:
            replies = self._service().call(
                model=self.model,
                api_key=self.connection.api_key,
                base_address=self.address,
                session=session,
                result_format="message",
                stream=stream,
                **parameters,
            )
            if not stream:
                return iter(()), replies, session.last_response()
            # The SDK makes the request when the first reply is asked for.
            return replies, next(replies, _NOTHING), session.last_response()

        try:
            replies, reply, response = run_interruptibly(begin, discard=lambda late: _close(late[2]))
        except Exception as error:
            raise _error_of(error, self.model, self.address or "", broken=False) from error
        ended = False
        try:
            with shut_on_cancel(response):
                while reply is not _NOTHING:
                    delta = self._delta_of(reply, getattr(response, "headers", None))
                    ended = ended or delta.finish_reason is not None
                    yield delta
                    reply = next(replies, _NOTHING)
        except (ModelServiceError, GeneratorExit):
            raise
        except Exception as error:
            if not ended or isinstance(error, RunCancelled):
                raise _error_of(error, self.model, self.address or "", broken=True) from error
            logger.debug("The connection broke behind the end of the answer: %s", error)
        finally:
            if stream:
                _close(response)
        if not ended:
            raise service_error(
                model=self.model,
                address=self.address,
                kind="broken_stream",
                message="the answer ends without a reason to",
            )

    def _delta_of(self, reply: Any, headers: Mapping[str, str] | None) -> Delta:
        status = int(reply.status_code)
        if status != 200:
            raise service_error(
                model=self.model,
                address=self.address,
                status=status,
                code=str(reply.code) if reply.code else None,
                message=_as_text(reply.message),
                headers=headers,
            )
        output: Mapping[str, Any] = reply.output or {}
        choices = output.get("choices") or [{}]
        message = choices[0].get("message") or {"content": output.get("text")}
        delta = Delta(usage=usage_of(reply.usage), info={"request_id": reply.request_id, "model": self.model})
        content = message.get("content")
        if isinstance(content, str):
            delta.text = content
        else:
            for part in content or ():
                _read_part(part, delta)
        delta.reasoning = message.get("reasoning_content") or ""
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            delta.tool_calls.append(
                ToolCallDelta(
                    call.get("index"),
                    call.get("id") or None,
                    function.get("name") or None,
                    as_json_text(function.get("arguments")),
                )
            )
        reason = choices[0].get("finish_reason") or output.get("finish_reason")
        delta.finish_reason = None if reason in (None, "", "null") else reason
        return delta


def _read_part(part: Any, delta: Delta) -> None:
    if not isinstance(part, Mapping):
        delta.text += str(part)
        return
    for kind, value in part.items():
        if kind == "text":
            delta.text += value or ""
        elif kind in ("image", "audio", "video") and value:
            delta.items.append(ContentItem(**{kind: value}))


class RecordingSession:
    """A requests session that tells each thread the last response it got there, for its socket.

    It is not a subclass, so that a session of the user's own can be used as well.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._here = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def post(self, *args: Any, **kwargs: Any) -> Any:
        self._here.response = None
        self._here.response = self._session.post(*args, **kwargs)
        return self._here.response

    def last_response(self) -> Any:
        return getattr(self._here, "response", None)


def _close(response: Any) -> None:
    if response is not None:
        response.close()


def _quiet_sdk_log() -> None:
    """Keeps the SDK's tracebacks off standard error where a program has set up no logging."""
    log = logging.getLogger("dashscope")
    if not log.handlers:
        log.addHandler(logging.NullHandler())


def _as_text(message: Any) -> str:
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False, default=str)


def _error_of(error: Exception, model: str, address: str, broken: bool) -> Exception:
    """The package's error for one of requests or the SDK; others are handed back as they are."""
    import requests

    if CERTIFICATE_WORDS.search(str(error)):
        kind = "certificate"
    elif isinstance(error, requests.exceptions.ConnectTimeout):
        kind = "connect_timeout"
    elif isinstance(error, requests.exceptions.Timeout):
        kind = "read_timeout"
    elif isinstance(error, requests.exceptions.JSONDecodeError):
        kind = "not_json"
    elif isinstance(error, (requests.exceptions.RequestException, OSError)):
        # urllib3 reports a silent server that stops in the body as a connection error.
        if "Read timed out" in str(error):
            kind = "read_timeout"
        elif broken:
            kind = "broken_stream"
        elif "NameResolution" in repr(error) or "getaddrinfo" in str(error):
            kind = "dns"
        else:
            kind = "connection"
    elif broken and isinstance(error, (AttributeError, ValueError)):
        # What shutting the socket does to the reader, or a stream that is not DashScope's.
        kind = "broken_stream"
    else:
        return error
    return service_error(model=model, address=address, kind=kind, message=str(error), exception=error)
