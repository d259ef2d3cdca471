"""`Document`: what every parser makes of a file, in reading order, and the text that citations point into.

A document is a list of blocks. Its `text` is the blocks' texts joined; offsets of chunks, hits and citations
count characters of that text, so whoever stores a document stores enough to prove a quote.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from qwen_agentkit.schema import ContentItem

HEADING = "heading"
TEXT = "text"
LIST_ITEM = "list_item"
TABLE = "table"
CODE = "code"
NOTE = "note"
CAPTION = "caption"

BLOCK_KINDS = (HEADING, TEXT, LIST_ITEM, TABLE, CODE, NOTE, CAPTION)

SECTION_SEPARATOR = " > "


@dataclass(slots=True)
class Block:
    """One piece of a document that belongs together.

    Args:
        kind: One of `BLOCK_KINDS`. `note` is what stands beside the running text: foot notes, comments, speaker
            notes, page headers and footers.
        text: The text, as it is to be quoted. A list item carries its marker and indent ("- milk", "  2. eggs"),
            a table is Markdown (see `qwen_agentkit.rag.markdown_table.markdown_table`), code is verbatim. No text is
            changed by what reads it later.
        level: Of a heading: 1 for the highest. None elsewhere.
        page: 1-based physical page or slide; None where the format has none or it is not known.
        sheet: Name of the sheet, in spreadsheets.
        rows: First and last row of the sheet, 1-based, both included. The lines of a table with `rows` stand for
            these rows in order, one line a row (the Markdown rule line aside); a parser that leaves blank rows out
            starts a new block, so that a piece of the table can name its own rows.
    """

    kind: str
    text: str
    level: int | None = None
    page: int | None = None
    sheet: str | None = None
    rows: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.kind not in BLOCK_KINDS:
            raise ValueError(f"A block's kind is one of {', '.join(BLOCK_KINDS)}; given {self.kind!r}.")

    def to_json(self) -> dict[str, Any]:
        """The block as JSON-able values; absent fields are left out."""
        data: dict[str, Any] = {"kind": self.kind, "text": self.text}
        for name in ("level", "page", "sheet"):
            value = getattr(self, name)
            if value is not None:
                data[name] = value
        if self.rows is not None:
            data["rows"] = list(self.rows)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Block:
        """The block that `to_json` wrote."""
        rows = data.get("rows")
        return cls(
            kind=data["kind"],
            text=data["text"],
            level=data.get("level"),
            page=data.get("page"),
            sheet=data.get("sheet"),
            rows=(rows[0], rows[1]) if rows else None,
        )


@dataclass(slots=True)
class DocumentImage:
    """A picture inside a document, kept only when asked for (`keep_images=True`).

    Args:
        media_type: `image/png`, `image/jpeg`, ...
        data: The bytes of the picture file.
        page: 1-based page or slide, None where unknown.
        name: Its name in the file or its alternative text, if any.
    """

    media_type: str
    data: bytes
    page: int | None = None
    name: str | None = None

    def content_item(self) -> ContentItem:
        """The picture for a model that sees, as a data address."""
        return ContentItem(image=f"data:{self.media_type};base64,{base64.b64encode(self.data).decode('ascii')}")

    def to_json(self) -> dict[str, Any]:
        """The picture as JSON-able values."""
        encoded = base64.b64encode(self.data).decode("ascii")
        return {"media_type": self.media_type, "data": encoded, "page": self.page, "name": self.name}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DocumentImage:
        """The picture that `to_json` wrote."""
        return cls(data["media_type"], base64.b64decode(data["data"]), data.get("page"), data.get("name"))


@dataclass
class Document:
    """A file that has been read. It is not changed afterwards: `text` is joined once.

    Args:
        source: Absolute path or address.
        title: The title that the document gives itself, else the file's name.
        file_type: Kind that the content was found to be, such as `pdf` or `docx` (not the name's ending).
        blocks: The content in reading order, no empty ones.
        page_count: Pages or slides of the file, where it has them.
        warnings: What could not be read or is doubtful, one line each, for a person.
        images: Pictures, when they were asked for.
    """

    source: str
    title: str
    file_type: str
    blocks: list[Block] = field(default_factory=list)
    page_count: int | None = None
    warnings: list[str] = field(default_factory=list)
    images: list[DocumentImage] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        """The stored text: all blocks, list items one a line, everything else with a blank line between."""
        parts: list[str] = []
        previous: Block | None = None
        for block in self.blocks:
            if previous is not None:
                parts.append(_separator(previous, block))
            parts.append(block.text)
            previous = block
        return "".join(parts)

    def block_spans(self) -> list[tuple[int, int]]:
        """Start and end of each block in `text`, in the order of `blocks`."""
        spans: list[tuple[int, int]] = []
        position = 0
        previous: Block | None = None
        for block in self.blocks:
            if previous is not None:
                position += len(_separator(previous, block))
            spans.append((position, position + len(block.text)))
            position += len(block.text)
            previous = block
        return spans

    def sections(self) -> list[str | None]:
        """For each block the headings above it (a heading's own included), joined by `SECTION_SEPARATOR`."""
        path: list[tuple[int, str]] = []
        result: list[str | None] = []
        for block in self.blocks:
            if block.kind == HEADING:
                level = block.level or 1
                while path and path[-1][0] >= level:
                    path.pop()
                path.append((level, " ".join(block.text.split())))
            result.append(SECTION_SEPARATOR.join(text for _, text in path) if path else None)
        return result

    def to_json(self) -> dict[str, Any]:
        """The document as JSON-able values, for the cache and the pipe of a worker."""
        return {
            "source": self.source,
            "title": self.title,
            "file_type": self.file_type,
            "blocks": [block.to_json() for block in self.blocks],
            "page_count": self.page_count,
            "warnings": list(self.warnings),
            "images": [image.to_json() for image in self.images],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Document:
        """The document that `to_json` wrote."""
        return cls(
            source=data["source"],
            title=data["title"],
            file_type=data["file_type"],
            blocks=[Block.from_json(block) for block in data["blocks"]],
            page_count=data.get("page_count"),
            warnings=list(data.get("warnings") or []),
            images=[DocumentImage.from_json(image) for image in data.get("images") or []],
        )


def _separator(before: Block, after: Block) -> str:
    return "\n" if before.kind == LIST_ITEM and after.kind == LIST_ITEM else "\n\n"
