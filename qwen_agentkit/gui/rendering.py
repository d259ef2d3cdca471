"""A conversation as the messages that Gradio's chat shows: thinking and tool calls folded, everything made harmless."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape as html_escape
from pathlib import Path
from typing import Any

from qwen_agentkit.agents.user_agent import is_pending
from qwen_agentkit.gui.agents_shown import Cast
from qwen_agentkit.gui.escaping import escape, fenced
from qwen_agentkit.gui.marks import Cited
from qwen_agentkit.gui.media import given_out
from qwen_agentkit.gui.sources import file_address
from qwen_agentkit.gui.texts import say
from qwen_agentkit.gui.tickets import Tickets
from qwen_agentkit.schema import FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.work_dir import name_of

# A picture of Markdown after `escape`.
_PICTURE = re.compile(r"&#33;\[([^\]\n]*)\]\(([^)\s]+)\)")
_PICTURE_IN_RESULT = re.compile(r"!\[[^\]\n]*\]\(([^)\s]+)\)")
# Characters of arguments and results that are shown; the whole is in the session.
_MOST_SHOWN = 20_000
_MOST_IN_TITLE = 80
_KINDS = ("image", "audio", "video", "file")


@dataclass
class View:
    """For whom a conversation is shown, and how.

    Args:
        cast: The agents.
        tickets: Where the addresses of sources and files come from.
        user: Who sees it.
        lang: `en` or `zh`.
        files: The agent's own files, which may be shown.
    """

    cast: Cast
    tickets: Tickets
    user: str
    lang: str
    files: Sequence[str] = ()


@dataclass
class Shown:
    """What is on the screen.

    Args:
        messages: In the form of Gradio's chat.
        origins: For each of them, the place in the conversation of the message that it shows.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def add(self, origin: int, role: str, content: str, **more: Any) -> None:
        self.messages.append({"role": role, "content": content, **more})
        self.origins.append(origin)


def render(conversation: Sequence[Message], view: View, live: bool = False) -> Shown:
    """The conversation for the screen.

    Args:
        conversation: What was said, with tool calls and results.
        view: For whom.
        live: Whether the last message may still grow: what it waits for is shown open and turning.
    """
    shown = Shown()
    results = {
        (message.extra or {}).get("function_id"): place
        for place, message in enumerate(conversation)
        if message.role == FUNCTION and (message.extra or {}).get("function_id")
    }
    used: set[int] = set()
    speaker: str | None = None
    for place, message in enumerate(conversation):
        last = live and place == len(conversation) - 1
        if message.role == SYSTEM or place in used:
            continue
        if is_pending(message):
            shown.add(place, "assistant", _note(say("turn", view.lang, message.name or "")))
        elif message.role == USER:
            speaker = None
            _add_user(shown, place, message, view)
        elif message.role == FUNCTION:
            _add_tool(shown, place, message.name or "", "", message, view, running=False)
        else:
            if view.cast.named and message.name and message.name != speaker:
                speaker = message.name
                shown.add(place, "assistant", view.cast.badge(speaker))
            _add_thinking(shown, place, message, view, last)
            if message.function_call is not None:
                at = results.get((message.extra or {}).get("function_id"))
                result = conversation[at] if at is not None else None
                used.update({at} if at is not None else ())
                call = message.function_call
                _add_tool(shown, place, call.name, call.arguments, result, view, running=live and result is None)
            _add_answer(shown, place, message, view)
        _add_end(shown, place, message, view)
    return shown


def user_text(message: Message) -> str:
    """What the bubble of a user's message says: the text that an edit begins with."""
    return escape(_text(message))


def _add_user(shown: Shown, place: int, message: Message, view: View) -> None:
    text = user_text(message)
    if len(view.cast.people) > 1 and message.name:
        shown.add(place, "user", view.cast.badge(message.name))
    if text.strip():
        shown.add(place, "user", text)
    _add_media(shown, place, "user", message, view)


def _add_thinking(shown: Shown, place: int, message: Message, view: View, last: bool) -> None:
    thought = message.reasoning_content
    if isinstance(thought, list):
        thought = "".join(item.text or "" for item in thought)
    if thought and thought.strip():
        busy = last and not message.content and message.function_call is None
        title = {"title": say("thinking", view.lang), "status": "pending" if busy else "done"}
        shown.add(place, "assistant", escape(thought), metadata=title)


def _add_tool(
    shown: Shown, place: int, name: str, arguments: str, result: Message | None, view: View, running: bool
) -> None:
    body = []
    if arguments.strip() not in ("", "{}"):
        body += [f"**{say('arguments', view.lang)}**", _code(_pretty(arguments), "json")]
    text = _text(result) if result is not None else ""
    if text.strip():
        body += [f"**{say('result', view.lang)}**", _code(_pretty(text), "")]
    metadata: dict[str, Any] = {
        "title": say("tool", view.lang, _plain(name)),
        "status": "pending" if running else "done",
    }
    brief = " ".join(arguments.split())
    if brief and brief != "{}":
        metadata["log"] = _plain(brief if len(brief) <= _MOST_IN_TITLE else brief[: _MOST_IN_TITLE - 1] + "…")
    shown.add(place, "assistant", "\n\n".join(body), metadata=metadata)
    if result is not None:
        _add_media(shown, place, "assistant", result, view)
        # A tool that gives its pictures as items may name them in its text as well.
        for address in _PICTURE_IN_RESULT.findall(text) if isinstance(result.content, str) else ():
            path = given_out(address, view.user, view.files)
            if path is not None:
                shown.add(place, "assistant", _media("image", path, view))


def _add_answer(shown: Shown, place: int, message: Message, view: View) -> None:
    text, extra = _text(message), message.extra or {}
    cited = Cited(extra.get("citations"), view.tickets, view.lang)

    def finish(piece: str) -> str:
        return cited.linked(_PICTURE.sub(lambda match: _picture(match[1], match[2], view), piece))

    if text.strip():
        below = [cited.listed()]
        for claim in extra.get("unsupported") or ():
            words = claim.get("text") if isinstance(claim, dict) else claim
            below.append(_note(say("unsupported", view.lang, words)) if words else "")
        shown.add(place, "assistant", "\n\n".join([escape(text, finish), *filter(None, below)]))
    _add_media(shown, place, "assistant", message, view)


def _add_end(shown: Shown, place: int, message: Message, view: View) -> None:
    end = str((message.extra or {}).get("end") or "")
    if end == "cancelled":
        shown.add(place, "assistant", _note(say("stopped", view.lang)))
    elif end.startswith("limit:"):
        shown.add(place, "assistant", _note(say("limit", view.lang, end.removeprefix("limit:").replace("_", " "))))
    elif end == "error":
        shown.add(place, "assistant", _note(say("broken", view.lang)))


def failure(error: str, lang: str) -> str:
    """The note that an answer failed, with the error's own words."""
    return _note(say("failed", lang, error))


def queued(text: str, lang: str) -> list[dict[str, Any]]:
    """A message that was sent while the agent was working."""
    return [
        {"role": "user", "content": escape(text)},
        {"role": "assistant", "content": _note(say("queued", lang))},
    ]


def _note(words: str) -> str:
    return f'<span class="qak-note">{html_escape(words)}</span>'


def _add_media(shown: Shown, place: int, role: str, message: Message, view: View) -> None:
    if isinstance(message.content, str):
        return
    for item in message.content:
        kind = next((one for one in _KINDS if getattr(item, one)), None)
        if kind is not None:
            shown.add(place, role, _item(kind, item, view))


def _item(kind: str, item: ContentItem, view: View) -> str:
    value = getattr(item, kind)
    values = value if isinstance(value, list) else [value]
    return "\n\n".join(_one(kind, one, view) for one in values)


def _one(kind: str, value: Any, view: View) -> str:
    if isinstance(value, dict):
        # A service's own form of a recording: `{"data": ..., "format": ...}`.
        value = value.get("data") or value.get("url") or ""
    path = given_out(str(value), view.user, view.files)
    if path is not None:
        return _media("image" if kind == "video" and _is_image(path) else kind, path, view)
    if str(value).lower().startswith(("http://", "https://")):
        # Shown as a link: fetched only when it is followed.
        return f'<a href="{html_escape(str(value))}">{html_escape(name_of(str(value)))}</a>'
    return _note(say("file", view.lang, name_of(str(value))[:_MOST_IN_TITLE] if len(str(value)) < 2_000 else kind))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


def _media(kind: str, path: Path, view: View) -> str:
    address = file_address(view.tickets.issue("file", path=str(path)), path.name)
    name = html_escape(path.name)
    if kind == "image":
        return f'<a href="{address}"><img class="qak-image" src="{address}" alt="{name}"></a>'
    if kind in ("audio", "video"):
        return f'<{kind} class="qak-{kind}" controls preload="metadata" src="{address}"></{kind}>'
    return f'<a class="qak-file" href="{address}">{name}</a>'


def _picture(words: str, address: str, view: View) -> str:
    path = given_out(address.replace("&amp;", "&"), view.user, view.files)
    return _media("image", path, view) if path is not None else f"[{words or address}]({address})"


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n\n".join(item.text for item in message.content if item.text)


def _code(text: str, language: str) -> str:
    cut = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n… ({len(text) - _MOST_SHOWN:,})"
    return fenced(cut, language)


def _pretty(text: str) -> str:
    """JSON laid out, other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, (dict, list)) else text


def _plain(text: str) -> str:
    """Text for a title, where Markdown may be read."""
    return re.sub(r"([\\`*_{}\[\]<>#!|~])", r"\\\1", text) if re.search(r"[<`*\[]", text) else text
