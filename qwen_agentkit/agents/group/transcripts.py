"""A conversation for people to read: Markdown, HTML with a colour a speaker, or JSON; and where two differ."""

from __future__ import annotations

import difflib
import html
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit.agents.group.state import TeamState
from qwen_agentkit.agents.group.views import speaker_name
from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.schema import FUNCTION, SYSTEM, ContentItem, Message, messages_from

FORMS = ("markdown", "json", "html")
# Hues that stay apart, also for people who do not see all colours; the lightness is fixed for contrast on white.
_HUES = (210, 25, 140, 290, 50, 180, 340, 100, 250, 0)

Talk = TeamState | Mapping[str, Any] | Sequence[Message] | Sequence[dict]


def transcript(talk: Talk, form: str = "markdown", title: str = "Transcript") -> str:
    """A conversation as text to read or keep.

    Args:
        talk: A team's state (also its JSON), or a list of messages.
        form: `markdown`, `json` (the messages as they are) or `html` (a page of its own).
        title: Heading of the page.

    Raises:
        ValueError: The form is unknown, or the talk is none.
    """
    if form not in FORMS:
        raise ValueError(f"form is one of {', '.join(FORMS)}, not {form!r}")
    messages = messages_of(talk)
    if form == "json":
        return json.dumps([message.model_dump() for message in messages], ensure_ascii=False, indent=2)
    if form == "markdown":
        return "\n\n".join([f"# {title}", *filter(None, map(_markdown, messages))]) + "\n"
    return _html(messages, title)


def read_talk(path: str | os.PathLike[str]) -> list[Message]:
    """The conversation in a JSON file: a saved team state, a list of messages, or a dict with `messages`.

    Raises:
        ValueError: The file holds neither.
    """
    with open(path, encoding="utf-8") as stream:
        try:
            return messages_of(json.load(stream))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} holds no conversation: {error}") from None


def difference(one: Talk, other: Talk) -> str:
    """Where two conversations part, as a unified diff of their lines; empty when they do not."""
    before, after = (transcript(talk, title="").splitlines() for talk in (one, other))
    return "\n".join(difflib.unified_diff(before, after, "one", "other", lineterm=""))


def messages_of(talk: Talk) -> list[Message]:
    """The messages of a state, its JSON, or a list. Raises ValueError when there are none to be had."""
    if isinstance(talk, TeamState):
        return list(talk.messages)
    if isinstance(talk, Mapping):
        if "messages" not in talk:
            raise ValueError("a dict without 'messages' is no conversation")
        return messages_from(talk["messages"])
    return messages_from(talk)


def _parts(message: Message) -> list[ContentItem]:
    if isinstance(message.content, str):
        return [ContentItem(text=message.content)] if message.content else []
    return message.content


def _label(message: Message) -> str:
    if message.role == FUNCTION:
        return f"Result of {message.name or 'a tool'}"
    return "System" if message.role == SYSTEM else speaker_name(message)


def _markdown(message: Message) -> str:
    if is_pending(message):
        return f"*{_label(message)} is waited for.*"
    lines = []
    if message.reasoning_content:
        lines.append(_quoted(message.reasoning_content))
    for item in _parts(message):
        kind, value = item.get_type_and_value()
        lines.append(
            str(value) if kind == "text" else f"![{kind}]({value})" if kind == "image" else f"[{kind}]({value})"
        )
    if message.function_call is not None:
        lines.append(f"calls `{message.function_call.name}`\n\n{_fenced(message.function_call.arguments)}")
    if not lines:
        return ""
    body = _fenced("\n".join(lines)) if message.role == FUNCTION else "\n\n".join(lines)
    return f"**{_label(message)}**\n\n{body}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any in the text."""
    longest, run = 0, 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
article { border-left: .35rem solid var(--c); background: var(--b); padding: .5rem 1rem; margin: .75rem 0; }
article > b { color: var(--c); }
p, pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; }
details { margin: .5rem 0 .5rem 1rem; color: #444; }
""".strip()


def _html(messages: Sequence[Message], title: str) -> str:
    colours: dict[str, int] = {}
    for message in messages:
        if message.role not in (FUNCTION, SYSTEM):
            colours.setdefault(speaker_name(message), len(colours))
    body = "\n".join(filter(None, (_html_message(message, colours) for message in messages)))
    return (
        f'<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _html_message(message: Message, colours: Mapping[str, int]) -> str:
    label = html.escape(_label(message))
    if message.role in (FUNCTION, SYSTEM):
        return f"<details><summary>{label}</summary>{_html_parts(message)}</details>"
    inside = _html_parts(message) if not is_pending(message) else "<p><i>is waited for</i></p>"
    if message.reasoning_content:
        thought = html.escape(message.reasoning_content)
        inside = f"<details><summary>Thinking</summary><p>{thought}</p></details>{inside}"
    if message.function_call is not None:
        name, arguments = html.escape(message.function_call.name), html.escape(message.function_call.arguments)
        inside += f"<details><summary>calls {name}</summary><pre>{arguments}</pre></details>"
    if not inside:
        return ""
    number = colours[speaker_name(message)]
    # After all hues are used they come again, darker.
    hue, light = _HUES[number % len(_HUES)], max(18, 34 - 8 * (number // len(_HUES)))
    style = f"--c: hsl({hue} 75% {light}%); --b: hsl({hue} 70% 97%)"
    return f'<article style="{style}"><b>{label}</b>{inside}</article>'


def _html_parts(message: Message) -> str:
    shown = []
    for item in _parts(message):
        kind, value = item.get_type_and_value()
        if kind == "text":
            shown.append(f"<p>{html.escape(str(value))}</p>")
        elif kind == "image" and str(value).startswith(("https://", "http://", "data:image/")):
            shown.append(f'<p><img src="{html.escape(str(value))}" alt="image" style="max-width: 100%"></p>')
        else:
            # A path, or what is no picture: named, not loaded.
            shown.append(f"<p>[{kind}: {html.escape(str(value)[:300])}]</p>")
    return "".join(shown)
