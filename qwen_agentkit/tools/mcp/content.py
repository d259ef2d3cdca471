"""What an MCP server's result becomes in a message."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import mimetypes
import os
from collections.abc import Mapping, Sequence
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.utils.files import write_atomically

# Bytes of one picture, sound or file in a result.
MAX_BLOB_BYTES = 50_000_000


def result_of(result: Mapping[str, Any], tool: str) -> str | list[ContentItem] | None:
    """The content of a `tools/call` result.

    Args:
        result: The result as the dict of the protocol.
        tool: Name of the tool, for messages.

    Returns:
        Text when there is nothing but text, else content items; None when there is nothing.

    Raises:
        ToolServiceError: The server marked it as an error.
    """
    items = _items(result.get("content") or [])
    structured = result.get("structuredContent")
    if structured is not None and not _repeats(items, structured):
        items.append(ContentItem(text=json.dumps(structured, ensure_ascii=False, indent=2)))
    if result.get("isError"):
        text = "\n\n".join(item.text for item in items if item.text) or "no reason given"
        raise ToolServiceError(None, "tool_error", f"{tool} reported an error: {text}")
    return _merged(items)


def resource_of(result: Mapping[str, Any]) -> str | list[ContentItem] | None:
    """The content of a `resources/read` result."""
    return _merged([_resource(held) for held in result.get("contents") or [] if isinstance(held, Mapping)])


def _merged(items: Sequence[ContentItem]) -> str | list[ContentItem] | None:
    if not items:
        return None
    if all(item.text is not None for item in items):
        return "\n\n".join(item.text or "" for item in items)
    return list(items)


def _items(content: Sequence[Any]) -> list[ContentItem]:
    items: list[ContentItem] = []
    for block in content:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        if kind == "text":
            items.append(ContentItem(text=str(block.get("text", ""))))
        elif kind in ("image", "audio"):
            items.append(_blob(str(block.get("data", "")), str(block.get("mimeType", "")), kind))
        elif kind == "resource" and isinstance(block.get("resource"), Mapping):
            items.append(_resource(block["resource"]))
        elif kind == "resource_link":
            note = f" {block['description']}" if block.get("description") else ""
            items.append(ContentItem(text=f"[{block.get('name') or 'resource'}]({block.get('uri', '')}){note}"))
        else:
            items.append(ContentItem(text=f"[content of the type {kind!r}, which cannot be shown]"))
    return items


def _resource(resource: Mapping[str, Any]) -> ContentItem:
    uri, mime_type = str(resource.get("uri", "")), str(resource.get("mimeType", ""))
    if resource.get("text") is not None:
        return ContentItem(text=f"{uri}\n{resource['text']}" if uri else str(resource["text"]))
    kind = mime_type.partition("/")[0]
    return _blob(str(resource.get("blob", "")), mime_type, kind if kind in ("image", "audio") else "file", uri)


def _blob(data: str, mime_type: str, kind: str, uri: str = "") -> ContentItem:
    """Bytes of a result: pictures and sound as `data:` addresses, anything else as a file in the workspace."""
    named = f"{kind} {uri}".strip()
    if len(data) > MAX_BLOB_BYTES * 4 // 3:
        return ContentItem(text=f"[{named} of more than {MAX_BLOB_BYTES} bytes, left out]")
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        return ContentItem(text=f"[{named} whose base64 is broken]")
    if not content:
        return ContentItem(text=f"[{named} without content]")
    if kind == "image":
        return ContentItem(image=f"data:{mime_type or 'image/png'};base64,{data}")
    if kind == "audio":
        return ContentItem(audio=f"data:{mime_type or 'audio/wav'};base64,{data}")
    ending = mimetypes.guess_extension(mime_type) or ".bin"
    name = f"{hashlib.sha256(content).hexdigest()[:32]}{ending}"
    path = os.path.abspath(os.path.join(settings.DEFAULT_WORKSPACE, "tools", "mcp", name))
    try:
        write_atomically(path, content)
    except OSError as error:
        logger.warning("A resource of an MCP server could not be kept: %s", error)
        return ContentItem(text=f"[{named}, {len(content)} bytes, which could not be kept: {error.strerror}]")
    return ContentItem(file=path)


def _repeats(items: Sequence[ContentItem], structured: Any) -> bool:
    """Whether the text of a result is the structured content once more, as the protocol asks servers to do."""
    for item in items:
        if item.text is None:
            continue
        try:
            held = json.loads(item.text)
        except ValueError:
            held = item.text
        if held == structured or structured == {"result": held}:
            return True
    return False
