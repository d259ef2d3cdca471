"""HTML by lxml, or, where its tree gives up, by the events of the standard library's parser.

Both feed `HtmlFlow`, which turns start tags, text and end tags into blocks without ever recursing, so that no depth
of nesting can hurt it.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.encoding import decode
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.html_flow import HtmlFlow

_META_CHARSET = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]+?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_HEAD_BYTES = 8192
_VISIBLE = re.compile(r">[^<]*[^\s<][^<]*<")
_SCRIPTS = re.compile(r"<(script|style|template|noscript)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
# libxml2 stops at 2048 levels; well before that its tree is no longer what browsers show.
_DEEPEST_TREE = 1000


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads an HTML page into the builder: title, headings, paragraphs, lists, tables, code.

    Args:
        path: The file.
        builder: Takes the blocks; scripts, styles and templates are left out.
        options: `limits` bound the text.

    Raises:
        LimitExceededInFile: Too much text; what was read before is in the builder.
    """
    add_html(path.read_bytes(), builder)


def add_html(
    data: bytes, builder: DocumentBuilder, *, declared: str | None = None, set_title: bool = True
) -> dict[str, int]:
    """Writes the blocks of a page into the builder.

    Args:
        data: The page.
        builder: Takes the blocks.
        declared: Encoding by a header outside; the page's own declaration is used when None.
        set_title: The page's title becomes the document's.

    Returns:
        The number of blocks that were in the builder when an element with an id began, by id.
    """
    decoded = decode(data, declared=declared or declared_encoding(data))
    if decoded.warning:
        builder.warn(decoded.warning)
    return add_html_text(decoded.text, builder, set_title=set_title)


def add_html_text(text: str, builder: DocumentBuilder, *, set_title: bool = True) -> dict[str, int]:
    """Writes the blocks of a page that has been decoded; see `add_html`."""
    flow = HtmlFlow(builder, set_title=set_title)
    before = len(builder.blocks)
    root, complete = _tree(text)
    if root is not None and complete:
        _walk(root, flow)
        flow.close()
        if len(builder.blocks) > before or not _has_visible_text(text):
            return flow.anchors
        flow = HtmlFlow(builder, set_title=set_title)
    events = _Events(flow)
    events.feed(text)
    events.close()
    flow.close()
    return flow.anchors


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a page names in its first bytes."""
    head = data[:_HEAD_BYTES]
    match = _XML_ENCODING.search(head) or _META_CHARSET.search(head)
    return match.group(1).decode("ascii") if match else None


def _tree(text: str) -> tuple[Any | None, bool]:
    """The page's tree, and whether lxml read it to its end."""
    from lxml import etree

    if not text.strip():
        return None, False
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        return None, False
    gave_up = any(
        "depth" in entry.message.lower() or entry.type_name == "ERR_INTERNAL_ERROR" for entry in parser.error_log
    )
    return root, not gave_up


def _walk(root: Any, flow: HtmlFlow) -> None:
    from lxml import etree

    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag
        if not isinstance(tag, str):
            continue
        tag = tag.rpartition("}")[2].lower()
        if event == "start":
            flow.start(tag, element.attrib)
            if element.text:
                flow.data(element.text)
        else:
            flow.end(tag)
            if element.tail:
                flow.data(element.tail)


def _has_visible_text(text: str) -> bool:
    return bool(_VISIBLE.search(_SCRIPTS.sub("", f">{text}<")))


class _Events(HTMLParser):
    """The standard library's events, handed on."""

    def __init__(self, flow: HtmlFlow) -> None:
        super().__init__(convert_charrefs=True)
        self._flow = flow

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._flow.start(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        self._flow.end(tag)

    def handle_data(self, data: str) -> None:
        self._flow.data(data)
