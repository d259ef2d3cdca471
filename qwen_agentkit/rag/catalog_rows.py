"""The rows of the catalog: what is known of a document, of a chunk, of a change, and how each is written and read."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.rag.hits import Hit

# Texts at least this long are packed.
_PACK_FROM = 200
# A file changed this shortly before it was looked at may change again without a new time stamp.
_RACY_NS = 2_000_000_000


@dataclass
class Entry:
    """A document in the catalog.

    Args:
        source: Absolute path, address or id.
        kind: `file`, `url` or `text`.
        hash: Of its content.
        options: What its chunks depend on beside the content.
        size: Bytes of the file.
        mtime: Time of change of the file in nanoseconds, see `changed_at`.
        looked_at: When it was read, in nanoseconds.
        state: `live`, `pending`, or `failed` for one that cannot be read.
        title: Its title.
        file_type: What kind of file it is.
        pages: Pages, where it has them.
        chunks: How many.
        tokens: Of all chunks.
        characters: Of its text.
        warnings: What was said while it was read.
        page_hashes: Page -> hash of its text; page 0 is a text without pages.
        added_at: Seconds since the epoch.
        id: Its number.
    """

    source: str
    kind: str = "file"
    hash: str = ""
    options: str = ""
    size: int = 0
    mtime: int = 0
    looked_at: int = 0
    state: str = "pending"
    title: str | None = None
    file_type: str | None = None
    pages: int | None = None
    chunks: int = 0
    tokens: int = 0
    characters: int = 0
    warnings: list[str] = field(default_factory=list)
    page_hashes: dict[int, str] = field(default_factory=dict)
    added_at: float = 0.0
    id: int = 0

    def is_as_read(self, stamps: os.stat_result, options: str) -> bool:
        """Whether a file with these stamps, read with these options, would say what it said when it was read."""
        return (
            self.options == options
            and (self.size, self.mtime) == (stamps.st_size, changed_at(stamps))
            and self.mtime + _RACY_NS < self.looked_at
        )

    @property
    def failure(self) -> tuple[str, str]:
        """Of a failed one: the name of the error, and the reason."""
        kind, _, reason = self.warnings[0].partition(" ")
        return kind, reason


def changed_at(stamps: os.stat_result) -> int:
    """When a file changed last, in nanoseconds, also where its time was set back, as by `cp -p`."""
    return max(stamps.st_mtime_ns, stamps.st_ctime_ns)


@dataclass(frozen=True)
class ChangeRow:
    """One remembered change of a source."""

    number: int
    at: float
    source: str
    kind: str
    pages: list[int] | None


@dataclass(frozen=True)
class ChunkRow:
    """A chunk to be written."""

    number: int
    page: int | None
    page_end: int | None
    sheet: str | None
    rows: tuple[int, int] | None
    section: str | None
    start: int | None
    end: int | None
    tokens: int
    text: str
    text_hash: bytes


_COLUMNS = (
    "source",
    "state",
    "kind",
    "hash",
    "options",
    "size",
    "mtime",
    "looked_at",
    "title",
    "file_type",
    "pages",
    "chunks",
    "tokens",
    "characters",
    "warnings",
    "page_hashes",
    "added_at",
)


def insert_document(database: sqlite3.Connection, entry: Entry, state: str) -> int:
    """Writes the row of a document in a state; its number."""
    values = {name: getattr(entry, name) for name in _COLUMNS}
    values.update(state=state, warnings=json.dumps(entry.warnings), page_hashes=json.dumps(entry.page_hashes))
    marks = ", ".join("?" * len(_COLUMNS))
    cursor = database.execute(
        f"INSERT INTO documents ({', '.join(_COLUMNS)}) VALUES ({marks})", [values[name] for name in _COLUMNS]
    )
    return int(cursor.lastrowid or 0)


def read_entry(row: tuple[Any, ...]) -> Entry:
    """A row of the table of documents as an entry."""
    values = dict(zip(_COLUMNS, row[1:], strict=True))
    values["warnings"] = json.loads(values["warnings"])
    values["page_hashes"] = {int(page): value for page, value in json.loads(values["page_hashes"]).items()}
    return Entry(id=row[0], **values)


def read_hit(row: tuple[Any, ...]) -> Hit:
    """A chunk with its document's source and title as a hit without a score."""
    chunk, source, page, page_end, sheet, first, last, section, text, start, end, number, tokens, title = row
    return Hit(
        source=source,
        page=page,
        page_end=page_end,
        sheet=sheet,
        rows=(first, last) if first is not None else None,
        section=section,
        text=unpacked(text),
        start=start,
        end=end,
        title=title,
        number=number,
        tokens=tokens,
        chunk=chunk,
    )


def packed(text: str) -> bytes | str:
    """A text as it is kept: a long one compressed."""
    data = text.encode("utf-8", "surrogatepass")
    return zlib.compress(data, 1) if len(data) >= _PACK_FROM else text.encode("utf-8", "replace").decode()


def unpacked(data: bytes | str) -> str:
    """The text that `packed` made this of."""
    return data if isinstance(data, str) else zlib.decompress(data).decode("utf-8", "surrogatepass")
