"""Markdown as blocks: headings, paragraphs, lists, tables and code, each kept as it is written."""

from __future__ import annotations

import re

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import CODE, HEADING, LIST_ITEM, TABLE, TEXT

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_TITLE_LINE = re.compile(r"title\s*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)


def add_markdown(text: str, builder: DocumentBuilder, *, set_title: bool = True) -> None:
    """Writes the blocks of a Markdown text into the builder.

    Args:
        text: The text with line feeds as line ends. HTML in it is kept as it is written.
        builder: Takes the blocks.
        set_title: The title of the front matter, or the first heading of level 1, becomes the document's title.
    """
    lines = text.split("\n")
    at = _front_matter(lines, builder, set_title)
    pending: list[str] = []

    def flush() -> None:
        if pending:
            builder.add(TEXT, "\n".join(pending).strip("\n").rstrip())
            pending.clear()

    def heading(level: int, words: str) -> None:
        if set_title and level == 1 and not builder.title:
            builder.title = words
        builder.add(HEADING, words, level=level)

    while at < len(lines):
        line = lines[at]
        if not line.strip():
            flush()
            at += 1
        elif fence := _FENCE.match(line):
            flush()
            end = _fence_end(lines, at, fence.group(1))
            builder.add(CODE, "\n".join(lines[at:end]).rstrip("\n"))
            at = end
        elif atx := _ATX.match(line):
            flush()
            if (atx.group(2) or "").strip():
                heading(len(atx.group(1)), atx.group(2).strip())
            at += 1
        elif pending and (setext := _SETEXT.match(line)) and not _ITEM.match(pending[0]):
            words = " ".join(part.strip() for part in pending)
            pending.clear()
            heading(1 if setext.group(1)[0] == "=" else 2, words)
            at += 1
        elif _RULE.match(line):
            flush()
            at += 1
        elif "|" in line and at + 1 < len(lines) and "-" in lines[at + 1] and _TABLE_RULE.match(lines[at + 1]):
            flush()
            end = at + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            builder.add(TABLE, "\n".join(row.strip() for row in lines[at:end]))
            at = end
        elif not pending and _ITEM.match(line):
            at = _list(lines, at, builder)
        elif not pending and (line.startswith("    ") or line.startswith("\t")):
            end = _indented_end(lines, at)
            builder.add(CODE, "\n".join(lines[at:end]))
            at = end
        else:
            pending.append(line)
            at += 1
    flush()


def _front_matter(lines: list[str], builder: DocumentBuilder, set_title: bool) -> int:
    """Writes the YAML lines at the beginning, if there are any; returns where the text begins."""
    if not lines or lines[0].strip() != "---":
        return 0
    for end in range(1, min(len(lines), 200)):
        if lines[end].strip() in ("---", "..."):
            matter = "\n".join(lines[1:end])
            title = _TITLE_LINE.search(matter)
            if set_title and title and not builder.title:
                builder.title = title.group(1).strip().strip("\"'")
            builder.add(CODE, matter)
            return end + 1
        if lines[end].strip() and not re.match(r"[\w\s#-].*", lines[end]):
            return 0
    return 0


def _fence_end(lines: list[str], at: int, mark: str) -> int:
    closing = re.compile(r" {0,3}" + re.escape(mark[0]) + "{" + str(len(mark)) + r",}[ \t]*$")
    for end in range(at + 1, len(lines)):
        if closing.match(lines[end]):
            return end + 1
    return len(lines)


def _indented_end(lines: list[str], at: int) -> int:
    end = at
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(("    ", "\t"))):
        end += 1
    while end > at and not lines[end - 1].strip():
        end -= 1
    return end


def _list(lines: list[str], at: int, builder: DocumentBuilder) -> int:
    """Writes the items of a list with the lines that belong to each; returns where it ends."""
    item: list[str] = []
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            following = next((one for one in lines[at + 1 : at + 3] if one.strip()), "")
            if not following or not (_ITEM.match(following) or following.startswith(("  ", "\t"))):
                break
            at += 1
            continue
        if fence := _FENCE.match(line.strip() if item and line.startswith(" ") else line):
            end = _fence_end([one.strip() for one in lines[at:]], 0, fence.group(1)) + at
            builder.add(LIST_ITEM, "\n".join(item))
            item = []
            builder.add(CODE, "\n".join(lines[at:end]))
            at = end
            continue
        if _ITEM.match(line) and not _RULE.match(line):
            builder.add(LIST_ITEM, "\n".join(item))
            item = [line.rstrip()]
        elif _ATX.match(line) or _RULE.match(line):
            break
        elif item or line.startswith((" ", "\t")):
            item.append(line.rstrip())
        else:
            break
        at += 1
    builder.add(LIST_ITEM, "\n".join(item))
    return at
