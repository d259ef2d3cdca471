"""What an index holds: documents, their chunks with text and place, vectors, and what changed when.

One SQLite file (or none, for an index in memory). A document is `pending` while it is written and `live` from one
transaction on, in which the version it replaces goes; so readers see the last whole state at any moment, and what a
killed writer left is found and cleared by the next. What is deleted is overwritten on disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qwen_agentkit.rag.catalog_rows import (
    ChangeRow,
    ChunkRow,
    Entry,
    insert_document,
    packed,
    read_entry,
    read_hit,
    unpacked,
)
from qwen_agentkit.rag.hits import Hit

__all__ = ["Catalog", "ChangeRow", "ChunkRow", "Entry"]

# Raised when the tables change; an index of another number is refused.
FORMAT = 1
_WAIT_SECONDS = 30.0
# Changes remembered.
_MOST_CHANGES = 100_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT, state TEXT, kind TEXT, hash TEXT, options TEXT,
    size INTEGER, mtime INTEGER, looked_at INTEGER, title TEXT, file_type TEXT, pages INTEGER, chunks INTEGER,
    tokens INTEGER, characters INTEGER, warnings TEXT, page_hashes TEXT, added_at REAL
);
CREATE INDEX IF NOT EXISTS documents_by_source ON documents (source);
CREATE INDEX IF NOT EXISTS documents_by_hash ON documents (hash);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER, number INTEGER, page INTEGER, page_end INTEGER, sheet TEXT,
    first_row INTEGER, last_row INTEGER, section TEXT, start INTEGER, end INTEGER, tokens INTEGER, text BLOB,
    text_hash BLOB
);
CREATE INDEX IF NOT EXISTS chunks_by_document ON chunks (document, number);
CREATE TABLE IF NOT EXISTS vectors (text_hash BLOB PRIMARY KEY, vector BLOB);
CREATE TABLE IF NOT EXISTS dropped (document INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, source TEXT, kind TEXT, pages TEXT
);
"""
_CHUNK_COLUMNS = (
    "chunks.id, source, page, page_end, sheet, first_row, last_row, section, text, start, end, number, tokens, title"
)
_CHUNKS = _CHUNK_COLUMNS.replace(" tokens", " chunks.tokens")
_OF_LIVE = "FROM chunks JOIN documents ON documents.id = chunks.document WHERE documents.state = 'live'"
_WITH_VECTOR = (
    "FROM chunks JOIN documents ON documents.id = chunks.document "
    "JOIN vectors ON vectors.text_hash = chunks.text_hash WHERE documents.state = 'live'"
)


class Catalog:
    """The catalog of one index; usable from several threads.

    Args:
        file: The SQLite file; None keeps it in memory.

    Raises:
        ValueError: The file is no catalog of this version.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._read_lock = threading.RLock()
        self._write_lock = self._read_lock if file is None else threading.RLock()
        self._read = self._connect()
        # A reader must be able to see the last whole state while another connection writes.
        self._write = self._connect() if file is not None else self._read
        found = self.meta("format")
        if found is None:
            self.set_meta("format", str(FORMAT))
        elif found != str(FORMAT):
            self.close()
            raise ValueError(
                f"The index at {str(file)!r} has format {found}, this version reads {FORMAT}; make it anew"
            )

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self._file is None else str(self._file)
        connection = sqlite3.connect(name, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if self._file is not None:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise ValueError(f"{name!r} is damaged or no index: {error}") from error
        return connection

    def close(self) -> None:
        """Closes the file."""
        with self._read_lock, self._write_lock:
            if self._file is not None:
                self._write.close()
            self._read.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction of the writer."""
        with self._write_lock:
            self._write.execute("BEGIN IMMEDIATE")
            try:
                yield self._write
            except BaseException:
                self._write.execute("ROLLBACK")
                raise
            self._write.execute("COMMIT")

    def _all(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._read_lock:
            return self._read.execute(question, values).fetchall()

    # ---- facts

    def version(self) -> int:
        """A number that changes when another connection has written."""
        return self._all("PRAGMA data_version")[0][0]

    def meta(self, key: str) -> str | None:
        """A fact about the whole index."""
        rows = self._all("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Sets a fact about the whole index."""
        with self.transaction() as database:
            database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def totals(self) -> dict[str, int]:
        """Numbers over all live documents."""
        row = self._all(
            "SELECT count(*), total(chunks), total(tokens), total(characters) FROM documents WHERE state = 'live'"
        )[0]
        failed = self._all("SELECT count(*) FROM documents WHERE state = 'failed'")[0][0]
        vectors = self._all("SELECT count(*) FROM vectors")[0][0]
        names = ("documents", "chunks", "tokens", "characters")
        return {
            **{name: int(value) for name, value in zip(names, row, strict=True)},
            "failed": failed,
            "vectors": vectors,
        }

    # ---- documents

    def entries(self, state: str | None = None) -> list[Entry]:
        """All documents but pending ones, or those of one state."""
        where = "state = ?" if state else "state != 'pending'"
        return [
            read_entry(row) for row in self._all(f"SELECT * FROM documents WHERE {where}", (state,) if state else ())
        ]

    def entry(self, source: str) -> Entry | None:
        """The document of a source, live or failed."""
        rows = self._all("SELECT * FROM documents WHERE source = ? AND state != 'pending'", (source,))
        return read_entry(rows[0]) if rows else None

    def sources(self) -> list[str]:
        """The source of every live document, in the order in which they came."""
        return [row[0] for row in self._all("SELECT source FROM documents WHERE state = 'live' ORDER BY id")]

    def stamped(self) -> Iterator[Entry]:
        """All documents but pending ones, with no more than tells whether each is as it was, and why it failed."""
        names = ("source", "state", "kind", "options", "size", "mtime", "looked_at")
        rows = self._all(
            f"SELECT {', '.join(names)}, CASE state WHEN 'failed' THEN warnings END FROM documents "
            "WHERE state != 'pending'"
        )
        for *stamps, warnings in rows:
            yield Entry(**dict(zip(names, stamps, strict=True)), warnings=json.loads(warnings or "[]"))

    def sources_below(self, folder: str) -> list[str]:
        """The files, live or failed, that are a path or lie below it."""
        low, high = folder.rstrip(os.sep) + os.sep, folder.rstrip(os.sep) + chr(ord(os.sep) + 1)
        rows = self._all(
            "SELECT source FROM documents WHERE state != 'pending' AND kind = 'file' "
            "AND (source = ? OR (source >= ? AND source < ?))",
            (folder, low, high),
        )
        return [row[0] for row in rows]

    def files(self) -> list[str]:
        """Every file, live or failed."""
        return [row[0] for row in self._all("SELECT source FROM documents WHERE state != 'pending' AND kind = 'file'")]

    def entry_of_content(self, content_hash: str, options: str) -> Entry | None:
        """A live document of the same content, cut the same way."""
        rows = self._all(
            "SELECT * FROM documents WHERE hash = ? AND options = ? AND state = 'live' LIMIT 1", (content_hash, options)
        )
        return read_entry(rows[0]) if rows else None

    def write_pending(
        self, database: sqlite3.Connection, entry: Entry, chunks: Iterable[ChunkRow]
    ) -> tuple[int, list[int]]:
        """Writes a document and its chunks, in the transaction at hand; nobody sees them before `publish`.

        Returns:
            The document's number and its chunks'.
        """
        document = insert_document(database, entry, "pending")
        numbers = []
        for chunk in chunks:
            first, last = chunk.rows or (None, None)
            cursor = database.execute(
                "INSERT INTO chunks (document, number, page, page_end, sheet, first_row, last_row, section, start, "
                "end, tokens, text, text_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    document,
                    chunk.number,
                    chunk.page,
                    chunk.page_end,
                    chunk.sheet,
                    first,
                    last,
                    chunk.section,
                    chunk.start,
                    chunk.end,
                    chunk.tokens,
                    packed(chunk.text),
                    chunk.text_hash,
                ),
            )
            numbers.append(int(cursor.lastrowid or 0))
        return document, numbers

    def publish(self, database: sqlite3.Connection, document: int, source: str) -> None:
        """Makes a pending document the one of its source, in the transaction at hand."""
        self.drop(database, source)
        database.execute("UPDATE documents SET state = 'live' WHERE id = ?", (document,))

    def drop(self, database: sqlite3.Connection, source: str) -> None:
        """Erases the document of a source, in the transaction at hand; the store is told by `dropped`."""
        gone = database.execute(
            "SELECT id, chunks FROM documents WHERE source = ? AND state != 'pending'", (source,)
        ).fetchall()
        for document, chunks in gone:
            self._erase(database, document)
            database.execute(
                "INSERT INTO meta VALUES ('dead', ?) ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
                (chunks,),
            )

    def _erase(self, database: sqlite3.Connection, document: int) -> None:
        database.execute("DELETE FROM chunks WHERE document = ?", (document,))
        database.execute("DELETE FROM documents WHERE id = ?", (document,))
        database.execute("INSERT OR IGNORE INTO dropped VALUES (?)", (document,))

    def write_failed(self, database: sqlite3.Connection, entry: Entry) -> None:
        """Remembers a source that cannot be read, so that it is not read again while it is the same."""
        self.drop(database, entry.source)
        insert_document(database, entry, "failed")

    def touch(self, database: sqlite3.Connection, entry: Entry) -> None:
        """Writes down the stamps of a file whose content is the same."""
        database.execute(
            "UPDATE documents SET size = ?, mtime = ?, looked_at = ? WHERE id = ?",
            (entry.size, entry.mtime, entry.looked_at, entry.id),
        )

    def clear_pending(self) -> bool:
        """Drops what a killed writer left; true when there was something."""
        with self.transaction() as database:
            left = database.execute("SELECT id FROM documents WHERE state = 'pending'").fetchall()
            for (document,) in left:
                self._erase(database, document)
        return bool(left)

    def dropped(self) -> list[int]:
        """Documents that are gone from the catalog and not yet from the store."""
        return [row[0] for row in self._all("SELECT document FROM dropped")]

    def forget_dropped(self, documents: Iterable[int]) -> None:
        """The store has taken them out."""
        with self.transaction() as database:
            database.executemany("DELETE FROM dropped WHERE document = ?", [(document,) for document in documents])

    # ---- chunks

    def hits(self, chunks: Sequence[int]) -> dict[int, Hit]:
        """The live chunks among these numbers."""
        marks = ",".join("?" * len(chunks))
        rows = self._all(f"SELECT {_CHUNKS} {_OF_LIVE} AND chunks.id IN ({marks})", chunks)
        return {row[0]: read_hit(row) for row in rows}

    def chunks_of(self, source: str, numbers: tuple[int, int] | None = None) -> list[Hit]:
        """The chunks of a document in reading order, or those from one number to another."""
        low, high = numbers if numbers is not None else (0, 1 << 60)
        rows = self._all(
            f"SELECT {_CHUNKS} {_OF_LIVE} AND source = ? AND number BETWEEN ? AND ? ORDER BY number",
            (source, low, high),
        )
        return [read_hit(row) for row in rows]

    def every_chunk(self) -> Iterator[tuple[int, Hit]]:
        """Every live chunk with the number of its document."""
        last = 0
        while True:
            rows = self._all(
                f"SELECT {_CHUNKS}, chunks.document {_OF_LIVE} AND chunks.id > ? ORDER BY chunks.id LIMIT 1000", (last,)
            )
            if not rows:
                return
            for row in rows:
                yield row[-1], read_hit(row[:-1])
            last = rows[-1][0]

    # ---- vectors

    def without_vector(self, limit: int) -> list[tuple[bytes, str]]:
        """Texts of live chunks that have no vector yet."""
        rows = self._all(
            f"SELECT DISTINCT text_hash, text {_OF_LIVE} AND text_hash NOT IN (SELECT text_hash FROM vectors) "
            "ORDER BY chunks.id LIMIT ?",
            (limit,),
        )
        return [(row[0], unpacked(row[1])) for row in rows]

    def add_vectors(self, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        """Keeps vectors by the hash of their text."""
        with self.transaction() as database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors)

    def vectors(self, after: int = 0, limit: int = -1) -> list[tuple[int, int, bytes]]:
        """(chunk, document, vector) of every live chunk that has one, in order; of those behind a number."""
        return self._all(
            f"SELECT chunks.id, chunks.document, vector {_WITH_VECTOR} AND chunks.id > ? ORDER BY chunks.id LIMIT ?",
            (after, limit),
        )

    def vectors_of(self, chunks: Sequence[int]) -> list[tuple[int, bytes]]:
        """(chunk, vector) of the live ones among these chunks that have one, in order."""
        marks = ",".join("?" * len(chunks))
        return self._all(
            f"SELECT chunks.id, vector {_WITH_VECTOR} AND chunks.id IN ({marks}) ORDER BY chunks.id", chunks
        )

    def with_vector(self) -> list[tuple[int, int]]:
        """(chunk, document) of every live chunk that has a vector, in order."""
        return self._all(f"SELECT chunks.id, chunks.document {_WITH_VECTOR} ORDER BY chunks.id")

    def vectors_whole_to(self) -> int:
        """The last chunk up to which every live one has a vector."""
        first = self._all(f"SELECT min(chunks.id) {_OF_LIVE} AND text_hash NOT IN (SELECT text_hash FROM vectors)")[0][
            0
        ]
        return int(first) - 1 if first is not None else int(self._all("SELECT max(id) FROM chunks")[0][0] or 0)

    def drop_vectors(self) -> None:
        """Erases all vectors, and counts how often that was done."""
        with self.transaction() as database:
            database.execute("DELETE FROM vectors")
            database.execute(
                "INSERT INTO meta VALUES ('vectors_dropped', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
            )

    def drop_stray_vectors(self, database: sqlite3.Connection) -> None:
        """Erases vectors of texts that no chunk has, in the transaction at hand."""
        database.execute("DELETE FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM chunks)")

    # ---- changes

    def write_change(self, database: sqlite3.Connection, source: str, kind: str, pages: list[int] | None) -> None:
        """Remembers a change, in the transaction at hand."""
        cursor = database.execute(
            "INSERT INTO changes (at, source, kind, pages) VALUES (?, ?, ?, ?)",
            (time.time(), source, kind, json.dumps(pages)),
        )
        database.execute("DELETE FROM changes WHERE number <= ?", (int(cursor.lastrowid or 0) - _MOST_CHANGES,))

    def changes(self, since: float) -> list[ChangeRow]:
        """The changes after a moment, in order."""
        rows = self._all("SELECT number, at, source, kind, pages FROM changes WHERE at > ? ORDER BY number", (since,))
        return [ChangeRow(row[0], row[1], row[2], row[3], json.loads(row[4])) for row in rows]

    # ---- disk

    def settle(self) -> None:
        """Brings the write-ahead log into the file, so that what was deleted is gone from both."""
        with self._write_lock:
            if self._file is not None:
                self._write.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def compact(self) -> None:
        """Gives unused space of the file back to the disk."""
        with self._write_lock:
            if self._file is not None:
                self._write.execute("VACUUM")
        self.settle()
