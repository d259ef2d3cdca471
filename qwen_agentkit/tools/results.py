"""What a tool returns, as what a message can hold.

Text and lists of `ContentItem` pass. Everything else becomes JSON, and what JSON cannot carry is described
rather than refused: a tool's odd result must not end a run.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.schema import ContentItem, FunctionCall, Message

# Objects inside objects that are followed, and items of one iterable that are read.
_MAX_DEPTH = 40
_MAX_ITEMS = 100_000

# What the model gets for a result without usable data, and the rule that its prompt carries.
NO_DATA = {
    "en": "This tool call gave no usable data. Tell the user so; do not invent a result.",
    "zh": "这次工具调用没有得到可用的数据。请如实告诉用户，不要编造结果。",
}
HONESTY_RULE = {
    "en": "Base what you say about a tool's result only on what it returned. When a tool reports no usable data or an "
    "error, say so plainly, and never make up numbers, facts or sources in its place.",
    "zh": "关于工具结果的说法只能依据工具实际返回的内容。"
    "当工具报告没有可用数据或出错时，要如实说明，绝不编造数字、事实或来源来代替。",
}
_REASON = {"en": "Reason: ", "zh": "原因："}
_NO_CONTENT = {"en": "The tool ended and returned nothing.", "zh": "工具已执行完毕，没有返回内容。"}


@dataclass(frozen=True)
class ToolResult:
    """A result that says whether it can be relied on. The program sees the object, the model a short text.

    A tool may return it, or a dict with exactly these keys.

    Args:
        valid: Whether `data` is usable.
        data: The result; only when valid.
        error: Why there is none; only when not valid.

    Raises:
        ValueError: Both `data` and `error` are given, or the one that does not go with `valid`.
    """

    valid: bool
    data: Any = None
    error: str | None = None

    def __post_init__(self) -> None:
        if self.valid and self.error is not None:
            raise ValueError(f"A valid ToolResult has no error, but it is {self.error!r}")
        if not self.valid and self.data is not None:
            raise ValueError("A ToolResult that is not valid has an error and no data")

    def to_dict(self) -> dict[str, Any]:
        return {"valid": self.valid, "data": self.data, "error": self.error}


def as_tool_result(value: Any) -> ToolResult | None:
    """The `ToolResult` that a value is or spells as a dict; None when it is something else."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, dict) and set(value) == {"valid", "data", "error"} and isinstance(value["valid"], bool):
        error = value["error"]
        # A dict may carry both; `valid` decides which one counts.
        if value["valid"]:
            return ToolResult(True, value["data"])
        return ToolResult(False, None, None if error is None else str(error))
    return None


def is_content(value: Any) -> bool:
    """Whether a value is already what a message can hold: text, or a list of `ContentItem`."""
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, ContentItem) for item in value)
    )


def to_content(value: Any, tool: Any = None, lang: str = "en") -> str | list[ContentItem]:
    """What the model gets for what a tool returned.

    Args:
        value: The tool's result.
        tool: The tool; the text of its `summarize`, if it gives one, stands for the result.
        lang: `en` or `zh`, the language of fixed notices.

    Returns:
        Text, or a list of `ContentItem`.
    """
    judged = as_tool_result(value)
    if judged is not None and not judged.valid:
        notice = NO_DATA.get(lang, NO_DATA["en"])
        if judged.error:
            notice += f"\n{_REASON.get(lang, _REASON['en'])}{' '.join(judged.error.split())}"
        return notice
    summary = tool.summarize(value) if hasattr(tool, "summarize") else None
    if summary is not None:
        return summary
    if judged is not None:
        value = judged.data
    if value is None:
        return _NO_CONTENT.get(lang, _NO_CONTENT["en"])
    if is_content(value):
        return value
    if isinstance(value, ContentItem):
        return [value]
    if isinstance(value, Message):
        return value.content
    return to_json(value)


def to_json(value: Any) -> str:
    """A value as JSON text, as Qwen-Agent writes it (four spaces, not escaped to ASCII).

    Sets become lists, times ISO text, numbers of other libraries plain numbers, dataclasses and pydantic models
    dicts, bytes and unknown objects a short description, a reference back to a container that is being written
    the text `<circular>`.
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=4)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, (), 0), ensure_ascii=False, indent=4)


def _plain(value: Any, above: tuple[int, ...], depth: int) -> Any:
    """The value in terms of JSON. `above` are the ids of the containers that hold it."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, above, depth)
    if isinstance(value, (int, float)):
        return value
    if id(value) in above:
        return "<circular>"
    if depth > _MAX_DEPTH:
        return _described(value)
    inside = (*above, id(value))
    if isinstance(value, (ContentItem, FunctionCall, Message)):
        return _plain(value.model_dump(), inside, depth + 1)
    if isinstance(value, Mapping):
        return {_key(key): _plain(held, inside, depth + 1) for key, held in value.items()}
    if isinstance(value, AbstractSet):
        return [_plain(held, inside, depth + 1) for held in _in_order(value)]
    if isinstance(value, (list, tuple)):
        return [_plain(held, inside, depth + 1) for held in value]
    simple = _simple(value)
    if simple is not None:
        return simple
    unpacked = _unpacked(value)
    if unpacked is not value:
        return _plain(unpacked, inside, depth + 1)
    if isinstance(value, Iterable) and not isinstance(value, type) and hasattr(value, "__len__"):
        return [_plain(held, inside, depth + 1) for _, held in zip(range(_MAX_ITEMS), value, strict=False)]
    return _described(value)


def _simple(value: Any) -> str | int | float | None:
    """Values of the standard library that are one number or text."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (datetime.timedelta, decimal.Decimal, uuid.UUID, complex)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value) if isinstance(os.fspath(value), str) else repr(os.fspath(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        shown = base64.b64encode(raw[:24]).decode("ascii")
        return f"<{len(raw)} bytes, base64 {shown}{'…' if len(raw) > 24 else ''}>"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    return None


def _unpacked(value: Any) -> Any:
    """What an object of another library holds (pydantic, numpy, pandas, dataclasses), else the object itself."""
    if isinstance(value, type):
        return value
    if dataclasses.is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    # Named for what they give: pydantic models, numpy scalars and arrays, pandas frames and series.
    for method in ("model_dump", "tolist", "to_dict", "_asdict"):
        unpack = getattr(value, method, None)
        if callable(unpack):
            try:
                return unpack()
            except Exception as error:
                return f"{_described(value)} ({method} failed: {type(error).__name__})"
    return value


def _in_order(values: AbstractSet[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool) or key is None:
        return json.dumps(key)
    if isinstance(key, enum.Enum):
        return _key(key.value)
    simple = _simple(key)
    return str(key) if simple is None else str(simple)


def _described(value: Any, limit: int = 200) -> str:
    try:
        text = repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, its repr failed with {type(error).__name__}>"
    # An address says nothing to a model and makes two equal results differ.
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    return text if len(text) <= limit else text[:limit] + "…"
