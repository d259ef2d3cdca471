"""Prints a growing response to the terminal, or to a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from qwen_agentkit.errors import MissingDependencyError, ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.schema import ASSISTANT, FUNCTION, Message
from qwen_agentkit.utils.optional import need

TOOL_CALL_S = "[TOOL_CALL]"
TOOL_CALL_E = ""
TOOL_RESULT_S = "[TOOL_RESPONSE]"
TOOL_RESULT_E = ""
THOUGHT_S = "[THINK]"
ANSWER_S = "[ANSWER]"


def typewriter_print(messages: Iterable[Message | Mapping[str, Any]], text: str) -> str:
    """Prints what a response has grown by.

        text = ""
        for response in bot.run(messages):
            text = typewriter_print(response, text)

    Args:
        messages: The response so far.
        text: What the last call returned; "" at first.

    Returns:
        The whole text, for the next call. When it does not begin with `text` (an agent replaced its answer),
        all of it was printed on new lines.
    """
    parts = [part for message in messages for part in _parts(message)]
    return _print_growth("\n".join(_named(shown, images) for shown, images in parts), text)


def multimodal_typewriter_print(messages: Iterable[Message | Mapping[str, Any]], text: str = "") -> str:
    """As `typewriter_print`; pictures in tool results are shown in a notebook, elsewhere named.

    Args:
        messages: The response so far.
        text: What the last call returned.

    Returns:
        The whole text, for the next call.
    """
    parts = [part for message in messages for part in _parts(message)]
    full = "\n".join(shown for shown, _ in parts)
    kept = len(text) if full.startswith(text) else 0
    _print_growth(full, text)
    position = 0
    for shown, images in parts:
        position += len(shown) + 1
        # A part that was printed whole before has had its pictures shown.
        if position - 1 > kept:
            for image in images:
                _show(image)
    return full


def _named(shown: str, images: list[str]) -> str:
    """A part with its pictures named behind it."""
    return "\n".join([shown.rstrip("\n") if images else shown, *(f"[image] {_short(image)}" for image in images)])


def _short(image: str) -> str:
    # A picture as base64 would fill the terminal.
    return image if len(image) <= 200 else f"{image[:60]}…"


def _print_growth(full: str, before: str) -> str:
    grown = full[len(before) :] if full.startswith(before) else f"\n{full}"
    if grown:
        sys.stdout.write(grown)
        sys.stdout.flush()
    return full


def _parts(message: Message | Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """A message as (text, pictures) pairs."""
    role = message["role"]
    text, images = _content(message.get("content") or "")
    if role == FUNCTION:
        return [(f"{TOOL_RESULT_S} {message.get('name') or ''}\n{text}", images)]
    if role != ASSISTANT:
        return [(f"[{str(role).upper()}]\n{text}", images)]
    parts: list[tuple[str, list[str]]] = []
    if message.get("reasoning_content"):
        parts.append((f"{THOUGHT_S}\n{message['reasoning_content']}", []))
    if text or images:
        parts.append((f"{ANSWER_S}\n{text}", images))
    call = message.get("function_call")
    if call:
        parts.append((f"{TOOL_CALL_S} {call['name']}\n{call['arguments']}", []))
    return parts


def _content(content: Any) -> tuple[str, list[str]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    images: list[str] = []
    for item in content if isinstance(content, (list, tuple)) else [content]:
        for kind in ("text", "image", "file", "audio", "video"):
            value = item.get(kind) if hasattr(item, "get") else None
            if value and kind == "image":
                images.append(value)
            elif value:
                texts.append(value if kind == "text" else f"[{kind}] {value}")
    return "\n".join(texts), images


def _show(image: str) -> None:
    """Shows a picture in a notebook; names it where there is none, or where it cannot be opened."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        try:
            sys.modules["IPython"].display.display(_opened(image))
            return
        except (OSError, ValueError, ToolServiceError, MissingDependencyError) as error:
            logger.warning("The picture %s cannot be shown: %s", image[:200], error)
    sys.stdout.write(f"\n[IMAGE] {_short(image)}")
    sys.stdout.flush()


def _opened(image: str) -> Any:
    import io

    pillow = need("PIL.Image", package="pillow")
    if image.startswith(("http://", "https://")):
        from qwen_agentkit.utils.web import fetch

        return pillow.open(io.BytesIO(fetch(image).raise_for_status().body))
    if image.startswith("data:"):
        from qwen_agentkit.utils.media_data import load_image_from_base64

        return load_image_from_base64(image)
    return pillow.open(image)
