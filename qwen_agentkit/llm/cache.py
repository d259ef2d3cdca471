"""Answers kept on disk: the same question to the same model is answered without asking again.

Kept with diskcache, as JSON (nothing is unpickled), safe between threads and processes. The key holds everything
that can change an answer. An answer that was cut, broke off, or came from a fallback is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from qwen_agentkit.llm._transport import after_fork
from qwen_agentkit.llm.generate_cfg import merge_generate_cfgs
from qwen_agentkit.llm.request import Ask
from qwen_agentkit.log import logger
from qwen_agentkit.schema import Message
from qwen_agentkit.utils.optional import need

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel

# Part of every key; to be raised when what is stored, or how answers come about, changes.
FORMAT = 1

# Settings that change how an answer is got, not what it is.
_NOT_IN_KEY = frozenset(
    {"cache_dir", "max_retries", "transport_retries", "retry_wait", "max_retry_wait", "request_timeout", "timeout"}
    | {"on_broken_stream", "price"}
)

_open: dict[str, Any] = {}
_lock = threading.Lock()


def _begin_anew() -> None:
    global _lock
    _lock = threading.Lock()
    _open.clear()


after_fork(_begin_anew)


def key_of(model: BaseChatModel, ask: Ask) -> str | None:
    """The key of a question to a model, None when answers are not kept."""
    if _folder(model, ask) is None:
        return None
    cfg = merge_generate_cfgs(model.generate_cfg, ask.generate_cfg)
    parts = {
        "format": FORMAT,
        "model": model.model,
        "model_type": model.model_type,
        "class": type(model).__qualname__,
        "address": model.address,
        "generate_cfg": {key: value for key, value in cfg.items() if key not in _NOT_IN_KEY},
        "compaction": model.cfg.get("compaction"),
        "messages": [message.model_dump() for message in ask.messages],
        "functions": ask.functions,
        "lang": ask.lang,
        "form": ask.form.schema if ask.form is not None else None,
    }
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(model: BaseChatModel, key: str, ask: Ask) -> list[Message] | None:
    """The answer kept under a key, marked `from_cache` and counted as having used nothing; None when there is none."""
    try:
        kept = _cache(model, ask).get(key)
    except (OSError, ValueError, sqlite3.Error) as error:
        logger.warning("The cache of answers could not be read, so %s is asked: %s", model.model, error)
        return None
    if kept is None:
        return None
    messages = [Message.model_validate(one) for one in kept]
    last = messages[-1]
    used = {**(last.extra or {}).get("usage", {}), "cost": 0.0, "from_cache": True}
    last.extra = {**(last.extra or {}), "usage": used}
    return messages


def write(model: BaseChatModel, key: str, messages: list[Message], ask: Ask) -> None:
    """Keeps a whole answer; one that was cut is left out."""
    last = messages[-1].extra or {}
    if last.get("truncated") or last.get("usage", {}).get("finish_reason") in ("length", "content_filter", "broken"):
        return
    if not any(message.content or message.function_call for message in messages):
        return
    try:
        _cache(model, ask).set(key, [message.model_dump() for message in messages])
    except (OSError, TypeError, ValueError, sqlite3.Error) as error:
        # The answer is there; that it is not kept is no reason to lose it.
        logger.warning("The answer of %s could not be kept in the cache: %s", model.model, error)


def _folder(model: BaseChatModel, ask: Ask) -> str | None:
    return ask.generate_cfg.get("cache_dir") or model.cache_dir


def _cache(model: BaseChatModel, ask: Ask) -> Any:
    folder = os.path.abspath(str(_folder(model, ask)))
    with _lock:
        if folder not in _open:
            diskcache = need("diskcache", extra="cache")
            _open[folder] = diskcache.Cache(folder, disk=diskcache.JSONDisk)
        return _open[folder]
