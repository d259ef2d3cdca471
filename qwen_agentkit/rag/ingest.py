"""From files to what the catalog keeps: reading in worker processes, chunking, hashes of pages."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError, PasswordRequired
from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.catalog import ChunkRow, Entry
from qwen_agentkit.rag.chunking import CHUNKER_VERSION, chunk_document
from qwen_agentkit.rag.document import TEXT, Block, Document
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.reading import PARSER_VERSION
from qwen_agentkit.rag.workers import ReadProgress, read_documents
from qwen_agentkit.utils.text.segment import segment

Read = tuple[Entry, list[ChunkRow]]

READING = ("password", "engine", "tables", "keep_images", "ocr", "limits", "seconds", "memory", "workers")
"""Options of `read_documents` that an index takes as `reading`."""


def options_key(chunk_tokens: int, overlap_tokens: int | None, reading: dict[str, Any]) -> str:
    """What the chunks of a content depend on beside it, in one text: not on a password, nor on how many read."""
    meant = {"ocr": settings.OCR, **reading} if settings.OCR else reading
    kept = {
        name: asdict(value) if isinstance(value, ReadLimits) else value
        for name, value in sorted(meant.items())
        if name not in ("password", "workers")
    }
    return json.dumps([PARSER_VERSION, CHUNKER_VERSION, chunk_tokens, overlap_tokens, kept])


def check_reading(reading: Mapping[str, Any]) -> None:
    """Refuses, at once, options of reading that an index cannot use.

    Args:
        reading: Some of the options of `read_documents`; those of one call are not among them.

    Raises:
        ValueError: A name is none of these, or its value cannot be kept with the index.
    """
    wrong = [name for name in reading if name not in READING]
    if wrong:
        raise ValueError(f"reading takes {', '.join(READING)}; given {', '.join(map(repr, wrong))}.")
    limits = reading.get("limits")
    if limits is not None and not isinstance(limits, ReadLimits):
        raise ValueError(f"The limits of reading are a ReadLimits; given {limits!r}.")
    if callable(reading.get("ocr")):
        raise ValueError("A function cannot be kept with an index; give ocr as 'package.module:function'.")


def may_now_open(entry: Entry, reading: Mapping[str, Any]) -> bool:
    """Whether a file that could not be read for want of a password is given one by these options of reading."""
    if entry.state != "failed" or entry.failure[0] != PasswordRequired.__name__:
        return False
    password = reading.get("password")
    return bool(password.get(entry.source) if isinstance(password, Mapping) else password)


def content_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file. The name's ending is in it, because it is a hint to what the content is."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() + Path(path).suffix.lower()


def text_hash(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_hash(text: str) -> bytes:
    """What the vector of a passage's text is kept under."""
    return bytes.fromhex(text_hash(text))[:16]


def read_files(
    paths: Sequence[str],
    chunk_tokens: int,
    overlap_tokens: int | None,
    *,
    cache: DocumentCache | None,
    progress: Callable[[ReadProgress], None] | None,
    cancelled: Callable[[], bool] | None,
    reading: dict[str, Any],
) -> Iterator[tuple[str, Read | DocParserError]]:
    """Reads files and cuts them into chunks.

    Yields:
        (path, entry and chunks, or the error), as each is finished. The entry knows what was read, not what the file's
        stamps are.
    """
    for path, result in read_documents(paths, cache=cache, progress=progress, cancelled=cancelled, **reading):
        if isinstance(result, DocParserError):
            yield path, result
        else:
            yield path, rows_of(result, chunk_tokens, overlap_tokens)


def rows_of(document: Document, chunk_tokens: int, overlap_tokens: int | None = None) -> Read:
    """What the catalog keeps of a document."""
    chunks = chunk_document(document, chunk_tokens, overlap_tokens)
    rows = [
        ChunkRow(
            number=chunk.number,
            page=chunk.page,
            page_end=chunk.page_end,
            sheet=chunk.sheet,
            rows=chunk.rows,
            section=chunk.section,
            start=chunk.start,
            end=chunk.end,
            tokens=chunk.tokens,
            text=chunk.text,
            text_hash=chunk_hash(chunk.text),
        )
        for chunk in chunks
    ]
    entry = Entry(
        source=document.source,
        title=document.title,
        file_type=document.file_type,
        pages=document.page_count,
        chunks=len(rows),
        tokens=sum(row.tokens for row in rows),
        characters=len(document.text),
        warnings=list(document.warnings),
        page_hashes=page_hashes(document),
    )
    return entry, rows


def text_document(source: str, text: str, title: str | None = None) -> Document:
    """A text of the caller's as a document: its paragraphs are kept as they stand."""
    return Document(
        source=source, title=title or "", file_type="text", blocks=[Block(TEXT, text)] if text.strip() else []
    )


def page_hashes(document: Document) -> dict[int, str]:
    """A short hash of the text of each page; page 0 is what has no page."""
    pages: dict[int, Any] = {}
    for block in document.blocks:
        digest = pages.setdefault(block.page or 0, hashlib.sha256())
        digest.update(block.text.encode("utf-8", "surrogatepass") + b"\x00")
    return {page: digest.hexdigest()[:16] for page, digest in pages.items()}


def changed_pages(before: dict[int, str], after: dict[int, str]) -> list[int] | None:
    """The pages whose hash is another one, new or gone; None where there are no pages."""
    pages = sorted(page for page in before.keys() | after.keys() if before.get(page) != after.get(page))
    return [page for page in pages if page] or None


def index_terms(text: str, *places: str | None) -> list[str]:
    """The terms of a chunk: of its text, and once those of its title, file name and headings that it lacks."""
    terms = segment(text)
    around = [place for place in places if place]
    if around:
        held = set(terms)
        terms += [term for term in dict.fromkeys(segment("\n".join(around))) if term not in held]
    return terms


def file_name(source: str) -> str | None:
    """The name of a source's file, for its terms; None for an id."""
    return Path(source).name if os.sep in source or "/" in source else None


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of at most `size` items."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
