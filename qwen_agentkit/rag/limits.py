"""Limits on what reading a file may cost. What holds them for zip packages and XML is in `guards`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from qwen_agentkit.errors import LimitExceededInFile, UnsupportedFileType

REFUSED = "refused"
"""Key in `extra` of an error after which nothing of the file is kept."""


@dataclass(frozen=True)
class ReadLimits:
    """What reading one file may take; what goes beyond is a `LimitExceededInFile` with the part read so far kept.

    Args:
        file_bytes: Size of the file itself.
        inflated_bytes: Bytes that come out of a zip package in one reading, all members together.
        inflate_ratio: Inflated bytes for each packed byte, once more than `ratio_free_bytes` have come out.
        ratio_free_bytes: Inflated bytes below which the ratio does not matter.
        zip_entries: Members of a zip package.
        pages: Pages of a PDF that are read.
        cells: Cells of a spreadsheet that are kept.
        text_characters: Characters of text that are kept.
        depth: Nesting of elements in HTML and XML, of messages in messages.
        image_bytes: Bytes of pictures kept with `keep_images`.
    """

    file_bytes: int = 100_000_000
    inflated_bytes: int = 200_000_000
    inflate_ratio: int = 100
    ratio_free_bytes: int = 10_000_000
    zip_entries: int = 10_000
    pages: int = 10_000
    cells: int = 2_000_000
    text_characters: int = 20_000_000
    depth: int = 5_000
    image_bytes: int = 20_000_000


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read.

    Args:
        password: Opens an encrypted file; None tries the empty one only.
        engine: For PDF: `auto`, `pdfium` (fast, plain) or `pdfminer` (layout and tables of every page).
        tables: For PDF: `auto` (this package's own reader) or `pdfplumber` (extra `tables`, slower) for hard ones.
        keep_images: Pictures are kept in `Document.images`.
        ocr: Reads pages without a text layer: see `qwen_agentkit.rag.ocr.recognise`. False leaves them out.
        limits: See `ReadLimits`.
    """

    password: str | None = field(default=None, repr=False)
    engine: str = "auto"
    tables: str = "auto"
    keep_images: bool = False
    ocr: bool | str | Callable[[bytes], str] = False
    limits: ReadLimits = field(default_factory=ReadLimits)


def check_file_size(path: Path, limits: ReadLimits) -> int:
    """The size of the file in bytes, if it can be read to its end.

    Raises:
        UnsupportedFileType: It is a pipe or device, which nobody may ever write to, or which never ends.
        LimitExceededInFile: It is larger than allowed.
    """
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise UnsupportedFileType(message="it is a pipe or device and no regular file")
    if facts.st_size > limits.file_bytes:
        raise LimitExceededInFile(message=f"the file has {facts.st_size:,} bytes; the limit is {limits.file_bytes:,}")
    return facts.st_size
