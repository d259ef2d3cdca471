"""One request to OpenAI's Chat Completions through its SDK, read as deltas.

The SDK makes the request; its answer is read as raw bytes, because the SDK's typed objects cost about twenty times
as much. For the same reason everything in the body goes through `extra_body`, past the SDK's typed transform.
Format: https://platform.openai.com/docs/api-reference/chat/streaming.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm._transport import arrived_probe, run_interruptibly, shut_down, shut_on_cancel
from qwen_agentkit.llm.delta import Delta, ToolCallDelta, as_json_text, merge_opaque
from qwen_agentkit.llm.service_errors import CERTIFICATE_WORDS, message_of_body, service_error
from qwen_agentkit.llm.sse import EventDecoder, StreamNotJSON
from qwen_agentkit.llm.usage import usage_of
from qwen_agentkit.log import logger

# Seconds that the end of a transfer may take after the closing event.
DRAIN_SECONDS = 0.5

# Fields of a reply's message that are read here or say nothing; all others are the service's own and kept opaque.
_READ = frozenset(
    {"role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal", "annotations"}
    | {"audio", "name", "prefix", "partial", "tool_call_id", "token_ids", "logprobs"}
)
_READ_OF_CALL = frozenset({"index", "id", "type", "function"})


class Refused(Exception):
    """The service refused the request with a status in the 400s; never leaves the backends.

    Args:
        error: The error to raise when nothing can be done about it.
    """

    def __init__(self, error: ModelServiceError) -> None:
        super().__init__(str(error))
        self.error = error

    def names(self, *words: str) -> bool:
        """Whether the service's message holds one of these words."""
        said = str((self.error.extra or {}).get("said"))
        return any(word in said for word in words)


def chat_completion(
    client: Any, model: str, body: dict[str, Any], *, stream: bool, address: str, sdk_options: dict[str, Any]
) -> Iterator[Delta]:
    """Makes the request and yields what arrives; blocks of events that arrived together make one Delta.

    Args:
        client: The SDK's client.
        model: Name of the model.
        body: Everything else of the request's body.
        stream: Whether to read the answer as it arrives.
        address: The service's address, for errors.
        sdk_options: Options of the SDK's method (`timeout`, `extra_headers`, `extra_query`).

    Raises:
        Refused: The service refused the request (status 400, 404 or 422).
        ModelServiceError: The request failed otherwise.
        RunCancelled: The run was cancelled.
    """
    manager = client.chat.completions.with_streaming_response.create(
        model=model, messages=[], stream=stream, extra_body=body, **sdk_options
    )
    try:
        opened = run_interruptibly(manager.__enter__, discard=lambda late: late.close())
    except Exception as error:
        raise _error_of(error, model, address) from error
    response = opened.http_response
    try:
        with shut_on_cancel(response):
            if stream and "json" not in response.headers.get("content-type", ""):
                yield from _read_stream(response, model, address)
            else:
                yield _read_whole(response, model, address)
    except (ModelServiceError, GeneratorExit):
        raise
    except Exception as error:
        raise _error_of(error, model, address, broken=True) from error
    finally:
        response.close()


def _read_whole(response: Any, model: str, address: str) -> Delta:
    raw = response.read()
    try:
        event = json.loads(raw)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise service_error(model=model, address=address, kind="not_json", message=message_of_body(raw)[1])
    return Collector(model, address).delta_of([event])


def _read_stream(response: Any, model: str, address: str) -> Iterator[Delta]:
    decoder = EventDecoder()
    collector = Collector(model, address)
    first = b""
    try:
        blocks = response.iter_bytes()
        next_is_here = arrived_probe(response)
        merged: list[bytes] = []
        for block in blocks:
            first = first or block
            merged.append(block)
            if next_is_here():
                continue
            events = decoder.feed(b"".join(merged))
            merged.clear()
            if events:
                yield collector.delta_of(events)
            if decoder.done:
                _drain(response, blocks)
                break
        else:
            events = decoder.feed(b"".join(merged)) + decoder.finish()
            if events:
                yield collector.delta_of(events)
    except StreamNotJSON as error:
        kind = "broken_stream" if collector.began else "not_json"
        raise service_error(model=model, address=address, kind=kind, message=str(error), exception=error) from error
    except Exception as error:
        # A yield may raise here too, but only GeneratorExit, which is no Exception.
        if not collector.ended or isinstance(error, ModelServiceError):
            raise
        logger.debug("The connection broke behind the end of the answer: %s", error)
        return
    if not (collector.began or decoder.done or "event-stream" in response.headers.get("content-type", "")):
        raise service_error(model=model, address=address, kind="not_json", message=message_of_body(first)[1])
    if not (decoder.done or collector.ended):
        raise service_error(
            model=model, address=address, kind="broken_stream", message="the answer ends without its closing event"
        )


def _drain(response: Any, blocks: Iterator[bytes]) -> None:
    """Reads the end of the transfer, so that the connection can be used again; a server that leaves the transfer
    open is not waited for."""
    timer = threading.Timer(DRAIN_SECONDS, shut_down, [response])
    timer.daemon = True
    timer.start()
    try:
        for _ in blocks:
            pass
    except Exception as error:
        logger.debug("The connection cannot be used again: %s", error)
    finally:
        timer.cancel()


class Collector:
    """Turns decoded events (or a whole reply) into deltas.

    Attributes:
        began: Something of the answer was read.
        ended: A finish reason was read.
    """

    def __init__(self, model: str, address: str) -> None:
        self._model = model
        self._address = address
        self.began = False
        self.ended = False

    def delta_of(self, events: list[dict[str, Any]]) -> Delta:
        """One delta for events that arrived together.

        Raises:
            ModelServiceError: One of them is an error, or not of the protocol's form.
        """
        try:
            delta = self._delta_of(events)
        except (AttributeError, TypeError, KeyError) as error:
            # A list or a text where the protocol has an object, or the like: seen only when it is used as one.
            shown = json.dumps(events, ensure_ascii=False)[:200]
            raise service_error(
                model=self._model,
                address=self._address,
                kind="broken_stream" if self.began else "not_json",
                message=f"the answer is not of the protocol's form ({error}): {shown}",
                exception=error,
            ) from error
        self.began = True
        return delta

    def _delta_of(self, events: list[dict[str, Any]]) -> Delta:
        texts: list[str] = []
        thoughts: list[str] = []
        delta = Delta()
        for event in events:
            choices = event.get("choices")
            if not choices:
                self._read_rest(event, delta)
                continue
            choice = choices[0]
            if choice.get("index"):  # a further choice; some servers say null for the first
                continue
            piece = choice.get("delta") or choice.get("message") or {}
            content = piece.get("content")
            if content:
                texts.append(content if isinstance(content, str) else _joined(content))
            if len(piece) > 1 or not content:
                self._read_piece(piece, texts, thoughts, delta)
            reason = choice.get("finish_reason")
            if reason:
                delta.finish_reason = reason
                self.ended = True
            if reason or event.get("usage") or event.get("error"):
                self._read_rest(event, delta)
        delta.text = "".join(texts)
        delta.reasoning = "".join(thoughts)
        return delta

    def _read_piece(self, piece: dict[str, Any], texts: list[str], thoughts: list[str], delta: Delta) -> None:
        thought = piece.get("reasoning_content") or piece.get("reasoning")
        if isinstance(thought, str):
            thoughts.append(thought)
        if isinstance(piece.get("refusal"), str):
            texts.append(piece["refusal"])
        audio = piece.get("audio")
        if isinstance(audio, dict):
            delta.audio += audio.get("data") or ""
            if isinstance(audio.get("transcript"), str):
                texts.append(audio["transcript"])
        for call in piece.get("tool_calls") or ():
            function = call.get("function") or {}
            opaque = {key: value for key, value in call.items() if key not in _READ_OF_CALL and value is not None}
            delta.tool_calls.append(
                ToolCallDelta(
                    call.get("index"),
                    call.get("id") or None,
                    function.get("name") or None,
                    as_json_text(function.get("arguments")),
                    opaque or None,
                )
            )
        legacy = piece.get("function_call")
        if isinstance(legacy, dict):
            delta.tool_calls.append(ToolCallDelta(0, None, legacy.get("name"), as_json_text(legacy.get("arguments"))))
        for key, value in piece.items():
            if key not in _READ and value is not None:
                delta.opaque = merge_opaque(delta.opaque, {key: value})

    def _read_rest(self, event: dict[str, Any], delta: Delta) -> None:
        if event.get("error") or event.get("object") == "error":
            code, said = message_of_body(event)
            status = int(code) if code and code.isdigit() and len(code) == 3 else None
            raise service_error(
                model=self._model,
                address=self._address,
                status=status,
                code=code,
                message=said or "an error without words",
                kind=None if status else "server_error",
            )
        counted = usage_of(event.get("usage"))
        if counted is not None:
            delta.usage = counted
        if event.get("id"):
            delta.info = {"request_id": event["id"], "model": event.get("model") or self._model}


def _joined(content: Any) -> str:
    """Text of content parts, as some servers give them."""
    parts = content if isinstance(content, list) else [content]
    return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts)


def _error_of(error: Exception, model: str, address: str, broken: bool = False) -> Exception:
    """The package's error for one of the SDK or its HTTP client; others are handed back as they are."""
    import openai

    if isinstance(error, openai.APIStatusError):
        body: Any = error.body
        if body is None or body == "":
            body = _text_of(error.response)
        code, said = message_of_body(body)
        found = service_error(
            model=model,
            address=address,
            status=error.status_code,
            code=None,
            message=f"{said} ({code})" if code and code not in said else said,
            headers=error.response.headers,
            exception=error,
        )
        return Refused(found) if error.status_code in (400, 404, 422) else found
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    names = {cls.__name__ for cls in type(cause).__mro__}
    from_http = type(cause).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2", "ssl")
    if not (isinstance(error, openai.APIConnectionError) or from_http or isinstance(cause, OSError)):
        return error
    said = str(cause) or str(error) or type(cause).__name__
    if CERTIFICATE_WORDS.search(said):
        kind = "certificate"
    elif "ConnectTimeout" in names:
        kind = "connect_timeout"
    elif "TimeoutException" in names or isinstance(error, openai.APITimeoutError):
        kind = "read_timeout"
    elif broken:
        kind = "broken_stream"
    elif any(word in said for word in ("Name or service", "name resolution", "getaddrinfo", "nodename nor")):
        kind = "dns"
    else:
        kind = "connection"
    return service_error(model=model, address=address, kind=kind, message=said, exception=error)


def _text_of(response: Any) -> str:
    try:
        return response.text
    except Exception as error:  # each HTTP client has its own error for a body that was not read
        return f"(no body: {type(error).__name__})"
