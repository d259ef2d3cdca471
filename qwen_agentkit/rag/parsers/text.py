"""Plain text, Markdown, source code, JSON, JSON Lines and XML, told apart by the kind that was found."""

from __future__ import annotations

import re
from pathlib import Path

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CODE, TEXT
from qwen_agentkit.rag.encoding import decode
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.markdown import add_markdown

_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_LONG_JSON_LINE = 2000
_DEEPEST_INDENT = 10  # brackets nested a thousandfold would otherwise be mostly blanks
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|"')


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a text file into the builder.

    Args:
        path: The file.
        builder: Takes the blocks; its `file_type` (`md`, `code`, `json`, `jsonl`, `xml` or `txt`) says how to read it.
        options: `limits` bound the text.

    Raises:
        LimitExceededInFile: Too much text; what was read before is in the builder.
    """
    data = path.read_bytes()
    kind = builder.file_type
    if kind == "xml":
        from qwen_agentkit.rag.parsers.xml_outline import add_xml

        if add_xml(data, builder):
            return
    decoded = decode(data)
    if decoded.warning:
        builder.warn(decoded.warning)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "md":
        add_markdown(text, builder)
    elif kind in ("json", "jsonl"):
        add_json(text, builder)
    elif kind in ("code", "xml"):
        builder.add(CODE, text.strip("\n").rstrip())
    else:
        add_plain(text, builder)


def add_plain(text: str, builder: DocumentBuilder) -> None:
    """Writes the paragraphs of a plain text, as they stand; form feeds divide it into pages.

    Args:
        text: The text with line feeds as line ends.
        builder: Takes the blocks.
    """
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    if len(pages) > 1:
        builder.page_count = len(pages)
    for number, page in enumerate(pages, 1):
        for paragraph in _PARAGRAPH_END.split(page):
            builder.add(TEXT, paragraph.strip("\n").rstrip(), page=number if len(pages) > 1 else None)


def add_json(text: str, builder: DocumentBuilder) -> None:
    """Writes JSON or JSON Lines as it stands; what has been pressed into long lines is broken at its brackets.

    Args:
        text: The file. Numbers and strings are copied character for character.
        builder: Takes one block.
    """
    stripped = text.strip()
    if any(len(line) > _LONG_JSON_LINE for line in stripped.split("\n")):
        stripped = "\n".join(_indented(line) if len(line) > _LONG_JSON_LINE else line for line in stripped.split("\n"))
    builder.add(CODE, stripped)


def _indented(line: str) -> str:
    """One line of JSON with a line for each member; only blanks outside strings change."""
    parts: list[str] = []
    depth = 0
    opened = False
    for token in _JSON_TOKEN.findall(line):
        if token in "]}":
            depth = max(0, depth - 1)
            if not opened:
                parts.append("\n" + " " * min(depth, _DEEPEST_INDENT))
            parts.append(token)
            opened = False
            continue
        if opened:
            parts.append("\n" + " " * min(depth, _DEEPEST_INDENT))
            opened = False
        parts.append(token)
        if token in "[{":
            depth += 1
            opened = True
        elif token == ",":
            parts.append("\n" + " " * min(depth, _DEEPEST_INDENT))
        elif token == ":":
            parts.append(" ")
    return "".join(parts)
