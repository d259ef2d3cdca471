"""`PageConfig`: what `chatbot_config` may say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.gui.texts import LANGUAGES
from qwen_agentkit.log import logger

Auth = Callable[[str, str], bool] | tuple[str, str] | list[tuple[str, str]]


@dataclass(frozen=True)
class PageConfig:
    """How the page looks and behaves.

    Args:
        user_name: Name of the person who asks; their messages carry it where it is set.
        user_avatar: Path of a picture.
        agent_avatar: Path of a picture.
        placeholder: Hint in the empty input; None is the page's own.
        suggestions: Questions to choose from, each `{"text": ..., "files": [...]}`.
        verbose: Whether each response is logged.
        title: Title of the page; None is the agent's name.
        lang: `en` or `zh`; None follows the browser.
        auth: Who may come in: (name, password), a list of them, or a function of both. Each has conversations of
            their own.
        store: Address of the session store (see `SessionStore`); None is the workspace's.
        max_file_mb: The most megabytes of a file that is sent.
    """

    user_name: str | None = None
    user_avatar: str | None = None
    agent_avatar: str | None = None
    placeholder: str | None = None
    suggestions: list[dict[str, Any]] = field(default_factory=list)
    verbose: bool = False
    title: str | None = None
    lang: str | None = None
    auth: Auth | None = None
    store: str | None = None
    max_file_mb: int = 50


_KEYS = {
    "user.name": "user_name",
    "user.avatar": "user_avatar",
    "agent.avatar": "agent_avatar",
    "input.placeholder": "placeholder",
    "prompt.suggestions": "suggestions",
    "verbose": "verbose",
    "title": "title",
    "lang": "lang",
    "auth": "auth",
    "store": "store",
    "max_file_mb": "max_file_mb",
}


def page_config(given: Mapping[str, Any] | None) -> PageConfig:
    """Reads a `chatbot_config`.

    Args:
        given: `user.name`, `user.avatar`, `agent.avatar`, `input.placeholder`, `prompt.suggestions`, `verbose`, as
            Qwen-Agent has them; and `title`, `lang`, `auth`, `store`, `max_file_mb`.

    Raises:
        ValueError: A value is not what its key is for.
    """
    unknown = sorted(set(given or {}) - set(_KEYS))
    if unknown:
        # No error: programs written for Qwen-Agent may carry keys of their own.
        logger.warning("chatbot_config has no %s; it knows %s", ", ".join(unknown), ", ".join(_KEYS))
    values = {_KEYS[key]: value for key, value in (given or {}).items() if value is not None and key in _KEYS}
    for key in ("user_avatar", "agent_avatar"):
        if key in values and not (isinstance(values[key], str) and os.path.isfile(values[key])):
            raise ValueError(f"chatbot_config: an avatar is the path of a picture, not {values[key]!r}")
    if values.get("lang", "en") not in LANGUAGES:
        raise ValueError(f"chatbot_config: lang is one of {', '.join(LANGUAGES)}, not {values['lang']!r}")
    size = values.get("max_file_mb", 1)
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"chatbot_config: max_file_mb is a whole number from 1 on, not {size!r}")
    values["suggestions"] = [_suggestion(one) for one in _listed(values.get("suggestions", []))]
    return PageConfig(**values)


def _listed(suggestions: Any) -> Sequence[Any]:
    if isinstance(suggestions, (str, Mapping)) or not isinstance(suggestions, Sequence):
        raise ValueError(f"chatbot_config: prompt.suggestions is a list, not {suggestions!r}")
    return suggestions


def _suggestion(given: Any) -> dict[str, Any]:
    """A suggestion: text, or a dict of `text` and `files` (paths)."""
    if isinstance(given, str):
        return {"text": given}
    if not isinstance(given, Mapping) or not isinstance(given.get("text"), str):
        raise ValueError(f"chatbot_config: a suggestion is text, or a dict with text and files, not {given!r}")
    files = [str(file) for file in given.get("files") or []]
    return {"text": given["text"], "files": files} if files else {"text": given["text"]}
