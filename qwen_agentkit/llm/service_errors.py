"""`ModelServiceError`s that say which model failed, where, how, and what mends it most likely.

`error.extra` holds the facts: `kind` (a word of the table below), `status`, `model`, `address`, `retry_after`.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

from qwen_agentkit.errors import ModelServiceError

# kind -> likely mend. The kinds are a closed list; retry.py decides by them.
MENDS = {
    "connection": "Is the server running, and is the address right?",
    "dns": "The host name is not known: is the address right, and is there a network?",
    "certificate": "The server's certificate is not trusted: 'ca_file' in the configuration names what to trust.",
    "connect_timeout": "The host does not answer: is the address right, and does a proxy or firewall stand between?",
    "read_timeout": "The server went silent: a larger 'timeout' in the configuration waits longer.",
    "broken_stream": "The server ended the answer in its middle; it is asked again where it can go on from there.",
    "not_json": "Does an OpenAI-compatible API live at this address? Base addresses usually end in /v1.",
    "auth": "Is the key right for this address ('api_key' in the configuration, or the environment)?",
    "forbidden": "The key is known but may not use this model or address.",
    "model_not_found": "Is the model's name spelled as the service spells it?",
    "wrong_address": "Base addresses usually end in /v1, without /chat/completions.",
    "too_long": "The messages are longer than the model's context: lower 'max_input_tokens' or set 'compaction'.",
    "inspection": "The service refuses this content.",
    "no_tools": "This server or model takes no tools: set 'fncall_prompt_type': 'nous' in generate_cfg.",
    "bad_call": "The model wrote a tool call that its service could not read; 'max_retries' asks again.",
    "quota": "The account's quota is used up.",
    "rate_limited": "Too many requests: 'max_retries' waits for them, 'rate_limits' avoids them.",
    "server_error": "The service itself failed; 'max_retries' or 'fallback' helps.",
    "conflict": "The service was busy with something else; 'max_retries' asks again.",
    "bad_request": "The service does not accept the request as it is.",
    "unknown": "",
}

_TOO_LONG = re.compile(
    r"maximum context length|context[ _](?:length|window)|too many tokens|input is too long|prompt is too long"
    r"|range of input length|exceeds? the (?:model'?s? )?(?:max|context)|max(?:imum)? input (?:length|tokens)",
    re.I,
)
_INSPECTION = re.compile(r"inspection|inappropriate content|content[ _](?:filter|policy|management)|sensitive", re.I)
_NO_MODEL = re.compile(
    r"model[^.]{0,80}?(?:not (?:found|exist|exists|supported)|does not exist|no such|unknown|invalid)"
    r"|(?:no such|unknown|invalid) model|model_not_found|try pulling it",
    re.I,
)
# A 400 about the order of tool messages is a fault of the history, not of the server.
_TOOL_ORDER = re.compile(r"must be (?:a response|followed)|tool_call_id|preced|role\W{0,3}tool", re.I)
# The service has tools, but the model's call was none: another try may give a good one.
_BAD_CALL = re.compile(r"tool_use_failed|failed to call a function|failed_generation", re.I)
_TOOLS = re.compile(r"\btool(?:s|_choice|_calls?| choice| calls?| call parser)?\b|function[ _-]?call", re.I)


# What the TLS layer says of a certificate that it does not trust.
CERTIFICATE_WORDS = re.compile(r"certificate[ _]verify[ _]failed", re.I)
# What a refusal of `response_format` says.
SCHEMA_WORDS = re.compile(r"response_format|json_schema|guided|structured", re.I)


def service_error(
    *,
    model: str,
    address: str | None,
    status: int | None = None,
    code: str | None = None,
    message: str = "",
    kind: str | None = None,
    headers: Mapping[str, str] | None = None,
    exception: BaseException | None = None,
) -> ModelServiceError:
    """The error of one failed request.

    Args:
        model: Name of the model.
        address: Where it was asked for.
        status: HTTP status, None when there was no reply.
        code: The service's own code; the status is the error's code without one.
        message: What the service said.
        kind: A key of `MENDS`; found from status, code and message when None.
        headers: Headers of the reply, for `Retry-After`.
        exception: The error underneath.
    """
    message = " ".join(message.split())
    kind = kind or kind_of_reply(status, code, message)
    said = message if len(message) <= 600 else message[:600] + "…"
    where = f"The model {model!r} at {address or 'its default address'}"
    how = f"answered with status {status}" if status is not None and status != 200 else "could not answer"
    text = f"{where} {how}: {said or kind.replace('_', ' ')}"
    if MENDS[kind]:
        text = f"{text.rstrip('.')}. {MENDS[kind]}"
    return ModelServiceError(
        exception=exception,
        code=code or (str(status) if status is not None else None),
        message=text,
        extra={
            "kind": kind,
            "status": status,
            "model": model,
            "address": address,
            "said": said,
            "retry_after": retry_after(headers),
        },
    )


def kind_of_reply(status: int | None, code: str | None, message: str) -> str:
    """The kind of failure that a reply of the service stands for."""
    said = f"{code or ''} {message}"
    if status == 429 or "Throttling" in (code or ""):
        return "quota" if re.search(r"insufficient_quota|arrear", said, re.I) else "rate_limited"
    if status is not None and status >= 500:
        return "server_error"
    if _BAD_CALL.search(said):
        return "bad_call"
    if _INSPECTION.search(said):
        return "inspection"
    if _TOO_LONG.search(said) or status == 413:
        return "too_long"
    if status == 401 or re.search(r"InvalidApiKey|invalid_api_key", said):
        return "auth"
    if status == 403:
        return "forbidden"
    if status in (400, 404, 422) and _TOOLS.search(said) and not _TOOL_ORDER.search(said):
        return "no_tools"
    if _NO_MODEL.search(said):
        return "model_not_found"
    if status in (404, 405):
        return "wrong_address"
    if status in (408, 409):
        return "conflict"
    return "bad_request" if status is not None and 400 <= status < 500 else "unknown"


def kind_of(error: ModelServiceError) -> str:
    """The kind of an error, also of one that a user's own model class raised with a bare code and message."""
    if error.extra and error.extra.get("kind") in MENDS:
        return error.extra["kind"]
    code = str(error.code or "")
    status = int(code) if code.isdigit() and len(code) == 3 else None
    return kind_of_reply(status, code, error.message or "")


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds that a reply's `Retry-After` (or `retry-after-ms`) asks to wait, None when it does not say.

    Format: RFC 9110 section 10.2.3, seconds or a date.
    """
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    milliseconds, value = lower.get("retry-after-ms"), lower.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        return None if value is None else max(0.0, float(value))
    except ValueError:
        pass  # not a number: a date
    parsed = email.utils.parsedate_tz(value) if value else None
    return None if parsed is None else max(0.0, email.utils.mktime_tz(parsed) - time.time())


def message_of_body(body: Any) -> tuple[str | None, str]:
    """Code and message in the body of an error reply, in the shapes that servers use."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, str):
            return None, inner
        if isinstance(inner, Mapping):
            code = inner.get("code")
            said = inner.get("message") or inner.get("msg") or inner.get("detail") or ""
            return (str(code) if code is not None else None), said if isinstance(said, str) else repr(said)
        return None, repr(inner)
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
    if "<html" in text[:500].lower():
        title = re.search(r"<title>(.*?)</title>", text, re.I | re.S)
        return None, f"a web page ({title.group(1).strip()})" if title else "a web page"
    return None, text
