"""What ODT and ODS have in common (OASIS OpenDocument 1.3): text with its blanks and notes, encryption, title."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qwen_agentkit.errors import PasswordRequired
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.parsers.ooxml import attribute, local, read_xml

_MAX_SPACES = 10_000
_NOT_TEXT = frozenset(
    {"tracked-changes", "bookmark", "bookmark-start", "bookmark-end", "change", "change-start", "change-end"}
)


def check_not_encrypted(package: GuardedZip) -> None:
    """Raises PasswordRequired when the package's manifest says that its parts are encrypted."""
    manifest = read_xml(package, "META-INF/manifest.xml")
    if manifest is not None and any(local(element.tag) == "encryption-data" for element in manifest.iter()):
        raise PasswordRequired(message="the document is encrypted; save it without a password to have it read")


def document_title(package: GuardedZip) -> str | None:
    """Title from the document's metadata."""
    meta = read_xml(package, "meta.xml")
    for element in meta.iter() if meta is not None else ():
        if local(element.tag) == "title" and (element.text or "").strip():
            return (element.text or "").strip()
    return None


def repeated(element: Any, name: str) -> int:
    """A count attribute such as `number-columns-repeated`; 1 when it is not there."""
    value = attribute(element, name) or "1"
    return max(1, int(value)) if value.isdigit() and len(value) < 10 else 1


def text_of(element: Any, beside: Callable[[Any], None]) -> str:
    """Text of a paragraph or heading.

    Args:
        element: A `text:p`, `text:h` or what stands in one.
        beside: Called with each note, annotation and frame, which are not part of the running text.
    """
    parts: list[str] = [element.text or ""]
    stack: list[tuple[Any, int]] = [(element, 0)]
    while stack:
        parent, at = stack.pop()
        if at >= len(parent):
            if stack:
                parts.append(parent.tail or "")
            continue
        stack.append((parent, at + 1))
        child = parent[at]
        name = local(child.tag)
        if name in ("note", "annotation", "frame", "custom-shape", "g"):
            beside(child)
            parts.append(child.tail or "")
        elif name == "s":
            parts.append(" " * min(repeated(child, "c"), _MAX_SPACES) + (child.tail or ""))
        elif name == "tab":
            parts.append("\t" + (child.tail or ""))
        elif name == "line-break":
            parts.append("\n" + (child.tail or ""))
        elif name == "ruby-text":
            reading = "".join(child.itertext()).strip()
            parts.append((f"({reading})" if reading else "") + (child.tail or ""))
        elif name in _NOT_TEXT or not name:
            parts.append(child.tail or "")
        else:
            parts.append(child.text or "")
            stack.append((child, 0))
    lines = "".join(parts).replace("\r", "").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def paragraphs(element: Any, beside: Callable[[Any], None]) -> list[str]:
    """Texts of all paragraphs and headings below an element, in order, those of notes and frames left to `beside`."""
    found: list[str] = []
    stack = [element]
    while stack:
        node = stack.pop()
        name = local(node.tag)
        if name in ("p", "h"):
            text = text_of(node, beside)
            if text:
                found.append(text)
        elif name not in ("tracked-changes", "annotation", "frame"):
            stack.extend(reversed(node))
        else:
            beside(node)
    return found
