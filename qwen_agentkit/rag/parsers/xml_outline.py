"""XML as an outline: one line an element, `name attribute="value": text`, mixed content as running text."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import TEXT
from qwen_agentkit.rag.guards import xml_parser
from qwen_agentkit.rag.parsers.ooxml import local

_DEEPEST = 60
_BLOCK_LINES = 40


def add_xml(data: bytes, builder: DocumentBuilder) -> bool:
    """Writes an XML file into the builder.

    Args:
        data: The file. Entities are not resolved and nothing is fetched.
        builder: Takes the blocks, each a few dozen lines that belong together.

    Returns:
        False when the data cannot be parsed as XML; nothing has been written then.
    """
    from lxml import etree

    try:
        root = etree.fromstring(data, xml_parser(recover=False, huge_tree=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    if local(root.tag).lower() == "html":
        from qwen_agentkit.rag.parsers.html import add_html

        add_html(data, builder)
        return True
    lines: list[str] = []
    for depth, line in _lines(root):
        if lines and depth <= 1 and len(lines) >= _BLOCK_LINES:
            builder.add(TEXT, "\n".join(lines))
            lines = []
        lines.append("  " * min(depth, _DEEPEST) + line)
    builder.add(TEXT, "\n".join(lines))
    return True


def _lines(root: Any) -> Any:
    stack = [(root, 0)]
    while stack:
        element, depth = stack.pop()
        if not isinstance(element.tag, str):
            continue
        head = " ".join([local(element.tag), *(f'{local(name)}="{value}"' for name, value in element.attrib.items())])
        # A child whose tag is no text is an entity: it stands for text and is not resolved.
        is_mixed = len(element) and (
            (element.text or "").strip()
            or any((child.tail or "").strip() or not isinstance(child.tag, str) for child in element)
        )
        if is_mixed:
            yield depth, f"{head}: {' '.join(_running(element).split())}"
            continue
        words = " ".join((element.text or "").split())
        yield depth, f"{head}: {words}" if words else head
        stack.extend((child, depth + 1) for child in reversed(element))


def _running(element: Any) -> str:
    """The text within an element. Where one child ends and the next begins at once, their words stay apart."""
    from lxml import etree

    parts: list[str] = []
    has_ended = False
    for event, one in etree.iterwalk(element, events=("start", "end")):
        is_element = isinstance(one.tag, str)
        if event == "start":
            if has_ended and is_element:
                parts.append(" ")
            parts.append(one.text or "")
            has_ended = False
        elif one is not element:
            parts.append(one.tail or "")
            has_ended = is_element and not one.tail
    return "".join(parts)
