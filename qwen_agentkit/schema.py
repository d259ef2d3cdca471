"""The words every layer speaks: `Message`, `ContentItem`, `FunctionCall`.

They are dataclasses with slots that also behave like dicts, as Qwen-Agent programs expect:
``message["role"]``, ``message.get("content")``, ``"name" in message``, ``{**message}``.

A field that is None counts as absent: it is not in `keys()`, not in the dump, and `get` gives the default
for it. A field that is set but empty (``content == ""``) is present, and `get` gives the empty value, as
the dict form of the same message does; Qwen-Agent gives the default there, so that one message answered
differently in its two forms.

Shapes on the wire: a model's thinking is a message of its own with `reasoning_content` and empty content;
each tool call is one assistant message with `function_call`; each result is one message of role `function`;
the two are tied by ``extra["function_id"]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

ROLE = "role"
CONTENT = "content"
REASONING_CONTENT = "reasoning_content"
NAME = "name"

SYSTEM = "system"
USER = "user"
ASSISTANT = "assistant"
FUNCTION = "function"

FILE = "file"
IMAGE = "image"
AUDIO = "audio"
VIDEO = "video"

DEFAULT_SYSTEM_MESSAGE = ""

ROLES = (SYSTEM, USER, ASSISTANT, FUNCTION)
# Roles of the OpenAI protocol that mean one of ours.
_ROLE_ALIASES = {"tool": FUNCTION, "developer": SYSTEM}


class _DictLike:
    """Dict-like access over the slots of a dataclass."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Any:
        if key in self._fields:
            return getattr(self, key)
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._fields:
            raise KeyError(f"{type(self).__name__} has no field {key!r}; its fields are {', '.join(self._fields)}")
        setattr(self, key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """The field's value, or `default` when the field is unknown or None (an empty value is a value)."""
        value = getattr(self, key, None) if key in self._fields else None
        return default if value is None else value

    def keys(self) -> list[str]:
        return [field for field in self._fields if getattr(self, field) is not None]

    def values(self) -> list[Any]:
        return [self[key] for key in self.keys()]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self.keys()]

    def __contains__(self, key: object) -> bool:
        return key in self._fields and getattr(self, str(key)) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def model_dump(self, *, exclude_none: bool = True, **_: Any) -> dict[str, Any]:
        """The plain dict (nested values too). `exclude_none=False` keeps unset fields as None."""
        return {
            field: _dump(getattr(self, field), exclude_none)
            for field in self._fields
            if not (exclude_none and getattr(self, field) is None)
        }

    def model_dump_json(self, *, exclude_none: bool = True, indent: int | None = None, **_: Any) -> str:
        """The dump as JSON text, not escaped to ASCII."""
        separators = (",", ":") if indent is None else None
        return json.dumps(
            self.model_dump(exclude_none=exclude_none), ensure_ascii=False, indent=indent, separators=separators
        )

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Builds an instance from a dict, or hands an instance on. ValueError on anything else."""
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            try:
                return cls(**value)
            except TypeError as error:
                raise ValueError(f"{dict(value)!r} is not a {cls.__name__}: {error}") from None
        raise ValueError(f"A {cls.__name__} or a dict is wanted, not {_shown(value)}")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy whose own containers are new; `deep` also copies what `extra` holds."""
        copied = object.__new__(type(self))
        for field in self._fields:
            object.__setattr__(copied, field, _copied(getattr(self, field), deep))
        for name, value in getattr(self, "__dict__", {}).items():
            setattr(copied, name, value)
        for key, value in (update or {}).items():
            copied[key] = value
        return copied

    def __copy__(self) -> Self:
        return self.model_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = self.model_copy(deep=True)
        memo[id(self)] = copied
        return copied

    def __str__(self) -> str:
        return str(self.model_dump())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_dump()})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.model_validate,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.model_dump()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "object", "title": cls.__name__, **cls._json_schema()}

    @classmethod
    def _json_schema(cls) -> dict[str, Any]:
        return {}


def _dump(value: Any, exclude_none: bool) -> Any:
    if isinstance(value, _DictLike):
        return value.model_dump(exclude_none=exclude_none)
    if isinstance(value, list):
        return [_dump(item, exclude_none) for item in value]
    if isinstance(value, dict):
        return {key: _dump(item, exclude_none) for key, item in value.items()}
    return value


def _copied(value: Any, deep: bool) -> Any:
    if isinstance(value, _DictLike):
        return value.model_copy(deep=deep)
    if isinstance(value, list):
        return [_copied(item, deep) for item in value]
    if isinstance(value, dict):
        if not deep:
            return dict(value)
        return {key: _copied(item, True) for key, item in value.items()}
    return value


def _shown(value: Any, limit: int = 200) -> str:
    text = repr(value)
    if len(text) > limit:
        text = text[:limit] + "…"
    return f"{type(value).__name__} {text}"


@dataclass(init=False, repr=False)
class FunctionCall(_DictLike):
    """A call of a tool.

    Args:
        name: Name of the tool.
        arguments: The arguments as JSON text (or whatever text the model gave). A dict is written as JSON.
    """

    __slots__ = ("name", "arguments")
    _fields = ("name", "arguments")

    name: str
    arguments: str

    def __init__(self, name: str, arguments: str | Mapping[str, Any] | None = "", **_: Any) -> None:
        if not isinstance(name, str):
            raise ValueError(f"FunctionCall.name is text, not {_shown(name)}")
        if arguments is None:
            arguments = ""
        elif isinstance(arguments, (Mapping, list)):
            arguments = json.dumps(arguments, ensure_ascii=False)
        elif not isinstance(arguments, str):
            raise ValueError(f"FunctionCall.arguments is JSON text, not {_shown(arguments)}")
        self.name = name
        self.arguments = arguments

    @classmethod
    def _json_schema(cls) -> dict[str, Any]:
        return {
            "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}},
            "required": ["name", "arguments"],
        }


@dataclass(init=False, repr=False)
class ContentItem(_DictLike):
    """One part of a message's content. Exactly one of the five is given.

    Args:
        text: Text; the empty text counts as given.
        image: Address, path or `data:` text of an image.
        file: Path or address of a document.
        audio: Address, path or `data:` text, or a dict in the service's own form.
        video: Address or path, or a list of images (frames).
    """

    __slots__ = ("text", "image", "file", "audio", "video")
    _fields = ("text", "image", "file", "audio", "video")

    text: str | None
    image: str | None
    file: str | None
    audio: str | dict | None
    video: str | list | None

    def __init__(
        self,
        text: str | None = None,
        image: str | None = None,
        file: str | None = None,
        audio: str | dict | None = None,
        video: str | list | None = None,
        **_: Any,
    ) -> None:
        given = [
            field
            for field, value in (("text", text), ("image", image), ("file", file), ("audio", audio), ("video", video))
            if value is not None and (value or field == "text")
        ]
        if len(given) != 1:
            raise ValueError(
                "A ContentItem holds exactly one of text, image, file, audio, video; "
                + (f"given: {', '.join(given)}" if given else "none was given")
            )
        for field, value in (("text", text), ("image", image), ("file", file)):
            if value is not None and not isinstance(value, str):
                raise ValueError(f"ContentItem.{field} is text, not {_shown(value)}")
        self.text = text
        self.image = image or None
        self.file = file or None
        self.audio = audio or None
        self.video = video or None

    def get_type_and_value(self) -> tuple[str, Any]:
        """The kind (`text`, `image`, `file`, `audio`, `video`) and its value."""
        for field in self._fields:
            value = getattr(self, field)
            if value is not None:
                return field, value
        raise ValueError("This ContentItem was emptied after it was made")

    @property
    def type(self) -> str:
        return self.get_type_and_value()[0]

    @property
    def value(self) -> Any:
        return self.get_type_and_value()[1]

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Also takes an OpenAI content part (`{"type": "image_url", ...}`) and plain text."""
        if isinstance(value, str):
            return cls(text=value)
        if isinstance(value, Mapping) and isinstance(value.get("type"), str):
            return cls(**_from_openai_part(value))
        return super().model_validate(value)

    @classmethod
    def _json_schema(cls) -> dict[str, Any]:
        text = {"type": "string"}
        return {
            "properties": {"text": text, "image": text, "file": text, "audio": {}, "video": {}},
            "minProperties": 1,
            "maxProperties": 1,
        }


def _from_openai_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """The ContentItem arguments for a content part of the OpenAI chat protocol."""
    kind = part["type"]
    if kind in ("text", "input_text", "output_text", "refusal"):
        return {"text": part.get("text", part.get("refusal", ""))}
    if kind in ("image_url", "input_image", "video_url"):
        value = part.get("video_url") if kind == "video_url" else part.get("image_url")
        return {"video" if kind == "video_url" else "image": value.get("url") if isinstance(value, Mapping) else value}
    if kind == "input_audio":
        return {"audio": part.get("input_audio")}
    if kind == "file" and isinstance(part.get("file"), Mapping):
        held = part["file"]
        return {"file": held.get("file_data") or held.get("filename") or held.get("file_id")}
    if kind in ContentItem._fields:
        return {kind: part.get(kind)}
    raise ValueError(f"A content part of type {kind!r} is not known; known are text, image_url, input_audio, video_url")


@dataclass(init=False, repr=False)
class Message(_DictLike):
    """One message of a conversation.

    Args:
        role: `system`, `user`, `assistant` or `function` (`tool` and `developer` are understood).
        content: Text, or a list of `ContentItem` (dicts and OpenAI parts are converted). None is "".
        reasoning_content: A model's thinking.
        name: Who speaks: the agent, or the tool for role `function`.
        function_call: The tool call that an assistant message makes.
        extra: JSON-able facts beside the message; see `qwen_agentkit.agent` for the keys the framework uses.
        **kwargs: Ignored, but for OpenAI's `tool_call_id`, which becomes `extra["function_id"]`, and `reasoning`.
    """

    __slots__ = ("role", "content", "reasoning_content", "name", "function_call", "extra")
    _fields = ("role", "content", "reasoning_content", "name", "function_call", "extra")

    role: str
    content: str | list[ContentItem]
    reasoning_content: str | None
    name: str | None
    function_call: FunctionCall | None
    extra: dict[str, Any] | None

    def __init__(
        self,
        role: str,
        content: str | Sequence[ContentItem | Mapping[str, Any]] | None = "",
        reasoning_content: str | None = None,
        name: str | None = None,
        function_call: FunctionCall | Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        role = _ROLE_ALIASES.get(role, role) if isinstance(role, str) else role
        if role not in ROLES:
            raise ValueError(f"Message.role is one of {', '.join(ROLES)} (or tool), not {role!r}")
        if extra is not None and not isinstance(extra, Mapping):
            raise ValueError(f"Message.extra is a dict, not {_shown(extra)}")
        extra = dict(extra) if extra is not None else None
        if kwargs.get("tool_call_id") is not None:
            extra = extra or {}
            extra.setdefault("function_id", kwargs["tool_call_id"])
        if reasoning_content is None and isinstance(kwargs.get("reasoning"), str):
            reasoning_content = kwargs["reasoning"]
        self.role = role
        self.content = _as_content(content)
        self.reasoning_content = reasoning_content
        self.name = name
        self.function_call = None if function_call is None else FunctionCall.model_validate(function_call)
        self.extra = extra

    @classmethod
    def _json_schema(cls) -> dict[str, Any]:
        return {
            "properties": {
                "role": {"type": "string", "enum": list(ROLES)},
                "content": {
                    "anyOf": [
                        {"type": "string"},
                        {"type": "array", "items": {"type": "object", **ContentItem._json_schema()}},
                    ]
                },
                "reasoning_content": {"type": "string"},
                "name": {"type": "string"},
                "function_call": {"type": "object", **FunctionCall._json_schema()},
                "extra": {"type": "object"},
            },
            "required": ["role", "content"],
        }


def _as_content(content: Any) -> str | list[ContentItem]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Iterable) and not isinstance(content, (Mapping, _DictLike, bytes)):
        return [ContentItem.model_validate(item) for item in content]
    raise ValueError(f"Message.content is text or a list of ContentItem, not {_shown(content)}")


def messages_from(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Copies a conversation into messages of its own.

    Takes this project's messages, their dicts, and OpenAI's shape: one assistant message with several
    `tool_calls` becomes one message a call, and a `tool` message without a name gets that of its call.

    Args:
        messages: `Message` objects and dicts, mixed as you like.

    Returns:
        New `Message` objects; changing them does not change the input.

    Raises:
        ValueError: Something in the list is no message; the text says which and why.
    """
    if isinstance(messages, (str, bytes, Mapping, Message)) or not isinstance(messages, Iterable):
        raise ValueError(f"A list of messages is wanted, not {_shown(messages)}")
    copied: list[Message] = []
    names: dict[str, str] = {}
    for position, message in enumerate(messages):
        try:
            for one in _split_openai(message):
                function_id = (one.extra or {}).get("function_id")
                if function_id is not None and isinstance(function_id, str):
                    if one.function_call is not None:
                        names[function_id] = one.function_call.name
                    elif one.role == FUNCTION and not one.name:
                        one.name = names.get(function_id)
                copied.append(one)
        except ValueError as error:
            raise ValueError(f"messages[{position}]: {error}") from None
    return copied


def _split_openai(message: Any) -> list[Message]:
    if isinstance(message, Message):
        return [message.model_copy(deep=True)]
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if not calls:
        one = Message.model_validate(message)
        return [one.model_copy(deep=True)]
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    parts: list[Message] = []
    head = Message.model_validate({**rest, "function_call": None})
    if head.reasoning_content:
        parts.append(Message(ASSISTANT, "", head.reasoning_content, head.name))
    if head.content:
        parts.append(Message(ASSISTANT, head.content, None, head.name))
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise ValueError(f"a tool call has a 'function' with name and arguments, not {_shown(call)}")
        extra = {**(head.extra or {}), **({"function_id": call["id"]} if call.get("id") is not None else {})}
        parts.append(Message(ASSISTANT, "", None, head.name, FunctionCall.model_validate(function), extra or None))
    return parts
