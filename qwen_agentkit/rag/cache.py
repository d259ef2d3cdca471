"""Documents and chunks that were read before, kept on disk: a file that did not change costs a stat.

One SQLite file in a private folder. Entries are keyed by the content's hash, the parsers' version and the options of
reading, so an edited file is read anew and an old entry never answers for it; a table beside it remembers which hash
a path had when it was last looked at. Any number of processes may use one folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit import errors, settings
from qwen_agentkit.errors import DocParserError, PasswordRequired
from qwen_agentkit.log import logger
from qwen_agentkit.rag.chunking import CHUNKER_VERSION, Chunk
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.reading import PARSER_VERSION

DEFAULT_MAX_BYTES = 2_000_000_000

# A file changed this shortly before it was hashed may change again without a new time stamp (as in git's index).
_RACY_NS = 2_000_000_000
_WAIT_SECONDS = 30.0
# The size of all entries is looked at after so much of what is allowed has been stored.
_CHECK_SHARE = 0.02
# How exact the time of last use is: more would be a write for each look.
_USE_SECONDS = 3_600.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, ctime INTEGER, inode INTEGER, hash TEXT, hashed_at INTEGER
);
CREATE INDEX IF NOT EXISTS files_by_hash ON files (hash);
CREATE TABLE IF NOT EXISTS entries (
    key TEXT PRIMARY KEY, hash TEXT, kind TEXT, size INTEGER, used_at REAL, data BLOB
);
CREATE INDEX IF NOT EXISTS entries_by_hash ON entries (hash);
CREATE INDEX IF NOT EXISTS entries_by_use ON entries (used_at, size);
"""
_FILE_NAMES = ("cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm")
# Raised when the tables or the form of an entry change; another number on disk means an empty cache.
_LAYOUT = 2


@dataclass(frozen=True, slots=True)
class FileState:
    """What a path held at one moment.

    Args:
        hash: SHA-256 of the content, in hexadecimal digits.
        size: Bytes.
        mtime: Time of change, in nanoseconds.
        ctime: Time of the last change of the entry itself, in nanoseconds.
        inode: Number of the file in its file system.
    """

    hash: str
    size: int
    mtime: int
    ctime: int
    inode: int


class DocumentCache:
    """The cache in one folder; may be used by several threads.

    Args:
        folder: Where it is; None is `documents` in the workspace. It is made for the user alone.
        max_bytes: What all entries may take; beyond it those not used for longest are dropped.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = Path(folder) if folder is not None else Path(settings.DEFAULT_WORKSPACE) / "documents"
        self.max_bytes = max_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._unchecked: float = self.max_bytes  # bytes stored since the size of all was looked at

    def __enter__(self) -> DocumentCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:  # a copy opens the folder itself
        return type(self), (self.folder, self.max_bytes)

    # --- what a path holds

    def state_of(self, path: str | os.PathLike[str]) -> FileState:
        """The content's hash; when the file is as it was last time, by a stat alone.

        Raises:
            FileNotFoundError: There is no such file.
            OSError: It cannot be read.
        """
        name = _absolute(path)
        found = os.stat(name)
        stamps = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        row = self._ask(
            "SELECT hash, hashed_at FROM files WHERE path = ? AND size = ? AND mtime = ? AND ctime = ? AND inode = ?",
            (name, *stamps),
        )
        if row is not None and max(found.st_mtime_ns, found.st_ctime_ns) + _RACY_NS < row[1]:
            return FileState(row[0], *stamps)
        hashed_at = time.time_ns()
        state = FileState(_hash_of(name), *stamps)
        self._tell("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", (name, *stamps, state.hash, hashed_at))
        return state

    # --- documents

    def lookup(self, path: str | os.PathLike[str], options: Mapping[str, Any]) -> Document | DocParserError | None:
        """The document that was read from this content with these options, or the error; None when there is none.

        Args:
            path: The file.
            options: The options of reading, JSON-able. A password is kept as a hash only.

        Raises:
            FileNotFoundError: There is no such file.
        """
        state = self.state_of(path)
        data = self._load(_document_key(state.hash, path, options))
        if data is None:
            return None
        if "error" in data:
            kind = getattr(errors, data["error"], DocParserError)
            return kind(message=data["message"].replace(_PATH, str(os.fspath(path))), extra=data.get("extra"))
        document = Document.from_json({**data, "source": _absolute(path)})
        if data["title"] is None:
            document.title = Path(path).name
        return document

    def store(
        self,
        path: str | os.PathLike[str],
        options: Mapping[str, Any],
        result: Document | DocParserError,
        state: FileState,
    ) -> None:
        """Keeps what reading gave.

        Args:
            path: The file.
            options: As for `lookup`.
            result: The document, or the error: a file that cannot be read is not tried again until it changes.
            state: What `state_of` said before reading; when the file has changed since, nothing is kept.
        """
        try:
            if self.state_of(path) != state:
                return
        except OSError:
            return  # gone while it was read
        if isinstance(result, Document):
            data = result.to_json()
            del data["source"]
            if result.title == Path(path).name:
                data["title"] = None  # the same content under another name has another one
        elif isinstance(result, PasswordRequired) or type(result) is DocParserError:
            return  # the next try may have the password; a plain error says that reading itself failed
        else:
            message = str(result.message or "").replace(os.fspath(path), _PATH).replace(_absolute(path), _PATH)
            data = {"error": type(result).__name__, "message": message, "extra": result.extra}
        self._save(_document_key(state.hash, path, options), state.hash, "document", data)

    # --- chunks

    def lookup_chunks(
        self, path: str | os.PathLike[str], options: Mapping[str, Any], chunk_tokens: int, overlap_tokens: int | None
    ) -> list[Chunk] | None:
        """The chunks of this content, or None.

        Args:
            path: The file.
            options: Of reading, as for `lookup`.
            chunk_tokens: As given to `chunk_document`.
            overlap_tokens: As given to `chunk_document`.
        """
        state = self.state_of(path)
        data = self._load(_chunks_key(state.hash, path, options, chunk_tokens, overlap_tokens))
        if data is None:
            return None
        own = {"source": _absolute(path)}
        title = data["title"] if data["title"] is not None else Path(path).name
        return [Chunk.from_json({**chunk, **own, "title": title}) for chunk in data["chunks"]]

    def store_chunks(
        self,
        path: str | os.PathLike[str],
        options: Mapping[str, Any],
        chunk_tokens: int,
        overlap_tokens: int | None,
        chunks: Sequence[Chunk],
        state: FileState,
    ) -> None:
        """Keeps the chunks of a document; `state` as for `store`."""
        title = chunks[0].title if chunks and chunks[0].title != Path(path).name else None
        rows = []
        for chunk in chunks:
            row = chunk.to_json()
            del row["source"], row["title"]
            rows.append(row)
        key = _chunks_key(state.hash, path, options, chunk_tokens, overlap_tokens)
        self._save(key, state.hash, "chunks", {"title": title, "chunks": rows})

    # --- keeping house

    def forget(self, path: str | os.PathLike[str]) -> None:
        """Erases what is kept of a path, its text too unless another path has the same content."""
        name = _absolute(path)
        with self._database() as database:
            row = database.execute("SELECT hash FROM files WHERE path = ?", (name,)).fetchone()
            database.execute("DELETE FROM files WHERE path = ?", (name,))
            if row and not database.execute("SELECT 1 FROM files WHERE hash = ?", row).fetchone():
                database.execute("DELETE FROM entries WHERE hash = ?", row)
        self._tidy("PRAGMA wal_checkpoint(TRUNCATE)")  # the log still holds the pages as they were

    def clean(self, older_than: float = 0.0) -> int:
        """Erases entries that were not used for a time.

        Args:
            older_than: Seconds; 0 erases everything.

        Returns:
            Bytes of the entries that are gone.
        """
        size, limit = self.unused_bytes(older_than), time.time() - older_than
        with self._database() as database:
            database.execute("DELETE FROM entries WHERE used_at <= ?", (limit,))
            database.execute("DELETE FROM files WHERE hash NOT IN (SELECT hash FROM entries)")
        self._tidy("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        return size

    def unused_bytes(self, older_than: float = 0.0) -> int:
        """Bytes of the entries that `clean` would erase."""
        with self._database() as database:
            (size,) = database.execute(
                "SELECT total(size) FROM entries WHERE used_at <= ?", (time.time() - older_than,)
            ).fetchone()
        return int(size)

    def _tidy(self, *statements: str) -> None:
        """Gives space back to the disk, unless another process is at work; the next time does it then."""
        with self._lock:
            if self._connection is None:
                return
            try:
                for statement in statements:
                    self._connection.execute(statement)
            except sqlite3.OperationalError as error:
                logger.info("the document cache in %s was not tidied: %s", self.folder, error)

    def stats(self) -> dict[str, int]:
        """`documents`, `chunk_lists`, `files`, and `bytes` of all entries."""
        with self._database() as database:
            kinds = dict(database.execute("SELECT kind, count(*) FROM entries GROUP BY kind").fetchall())
            (files,) = database.execute("SELECT count(*) FROM files").fetchone()
            (size,) = database.execute("SELECT total(size) FROM entries").fetchone()
        return {
            "documents": kinds.get("document", 0),
            "chunk_lists": kinds.get("chunks", 0),
            "files": files,
            "bytes": int(size),
        }

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    # --- the database

    def _ask(self, question: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """One row, or None; None too when the cache cannot be used, which is never worth a failure."""
        try:
            with self._database() as database:
                return database.execute(question, values).fetchone()
        except sqlite3.Error as error:
            self._survive(error)
            return None

    def _tell(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            with self._database() as database:
                database.execute(statement, values)
        except sqlite3.Error as error:
            self._survive(error)

    def _survive(self, error: sqlite3.Error) -> None:
        """Goes on without the cache for this once; a broken one is made anew."""
        logger.warning("the document cache in %s cannot be used: %s", self.folder, error)
        if not isinstance(error, sqlite3.OperationalError):
            self.close()
            self._put_away()

    def _put_away(self) -> None:
        for name in _FILE_NAMES:
            (self.folder / name).unlink(missing_ok=True)

    def _load(self, key: str) -> dict[str, Any] | None:
        row = self._ask("SELECT data, used_at FROM entries WHERE key = ?", (key,))
        if row is None:
            return None
        if time.time() - row[1] > _USE_SECONDS:
            self._tell("UPDATE entries SET used_at = ? WHERE key = ?", (time.time(), key))
        try:
            return json.loads(zlib.decompress(row[0]))
        except (zlib.error, ValueError, TypeError) as error:
            logger.warning("an entry of the document cache in %s is damaged: %s", self.folder, error)
            self._tell("DELETE FROM entries WHERE key = ?", (key,))
            return None

    def _save(self, key: str, content_hash: str, kind: str, data: dict[str, Any]) -> None:
        packed = zlib.compress(
            json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"), 1
        )
        try:
            with self._database() as database:
                database.execute(
                    "INSERT OR REPLACE INTO entries (key, hash, kind, size, used_at, data) VALUES (?, ?, ?, ?, ?, ?)",
                    (key, content_hash, kind, len(packed), time.time(), packed),
                )
                self._unchecked += len(packed)
                if self._unchecked >= self.max_bytes * _CHECK_SHARE:
                    self._unchecked = 0
                    self._make_room(database)
        except sqlite3.Error as error:
            self._survive(error)

    def _make_room(self, database: sqlite3.Connection) -> None:
        """Drops what was not used for longest, down to nine tenths of what is allowed."""
        (total,) = database.execute("SELECT total(size) FROM entries").fetchone()
        if total <= self.max_bytes * (1 - _CHECK_SHARE):
            return
        rows = database.execute("SELECT key, size FROM entries ORDER BY used_at, rowid").fetchall()
        for key, size in rows[:-1]:
            if total <= 0.9 * self.max_bytes:
                break
            database.execute("DELETE FROM entries WHERE key = ?", (key,))
            total -= size

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction of its own."""
        with self._lock:
            if self._connection is None or self._pid != os.getpid():
                self._connection = self._open()
                self._pid = os.getpid()
            connection = self._connection
            with connection:
                yield connection

    def _open(self) -> sqlite3.Connection:
        file = self.folder / _FILE_NAMES[0]
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not file.exists():
                os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise sqlite3.OperationalError(f"it cannot be made: {error}") from error
        try:
            return self._connect(file)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            # What is broken is put away and begun anew.
            logger.warning("the document cache in %s is damaged and is made anew (%s)", self.folder, error)
            self._put_away()
            return self._connect(file)

    def _connect(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=_WAIT_SECONDS, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")  # removing a document erases its text from the disk
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if layout not in (0, _LAYOUT):
                connection.executescript("DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS entries;")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
            connection.execute("SELECT count(*) FROM files").fetchone()
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection


# Stands for the file's name in a kept error.
_PATH = "\x00path\x00"


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).resolve())


def _hash_of(name: str) -> str:
    with open(name, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _document_key(content_hash: str, path: str | os.PathLike[str], options: Mapping[str, Any]) -> str:
    """Key of a document. The name's ending is in it because it is a hint to what the content is."""
    given = dict(options)
    if given.get("password"):
        given["password"] = hashlib.sha256(str(given["password"]).encode("utf-8", "replace")).hexdigest()
    parts = [PARSER_VERSION, content_hash, Path(path).suffix.lower(), json.dumps(given, sort_keys=True)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def _chunks_key(
    content_hash: str,
    path: str | os.PathLike[str],
    options: Mapping[str, Any],
    chunk_tokens: int,
    overlap_tokens: int | None,
) -> str:
    parts = [_document_key(content_hash, path, options), CHUNKER_VERSION, str(chunk_tokens), str(overlap_tokens)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
