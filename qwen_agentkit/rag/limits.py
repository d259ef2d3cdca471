"""Limits on what reading a file may cost, and the guards that hold them for zip packages and XML.

Sizes that a file declares about itself are never believed: bytes are counted as they are really inflated.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from qwen_agentkit.errors import DamagedFile, LimitExceededInFile, PasswordRequired

_BLOCK = 1 << 16

ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
"""What `zipfile` raises over a broken package."""

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
    """The size of the file in bytes.

    Raises:
        LimitExceededInFile: It is larger than allowed.
    """
    size = os.stat(path).st_size
    if size > limits.file_bytes:
        raise LimitExceededInFile(message=f"the file has {size:,} bytes; the limit is {limits.file_bytes:,}")
    return size


class GuardedZip:
    """A zip package whose members are read with every inflated byte counted.

    Opened by `open_zip`. Names are those inside the package and are never used as paths on disk.
    """

    def __init__(self, package: zipfile.ZipFile, limits: ReadLimits) -> None:
        self._package = package
        self._limits = limits
        self._inflated = 0
        self._packed = 0
        self._names = {info.filename: info for info in package.infolist()}
        self._folded = {name.replace("\\", "/").casefold(): name for name in self._names}

    def names(self) -> list[str]:
        """The members' names, in the order of the package's directory."""
        return list(self._names)

    def find(self, name: str) -> str | None:
        """The member's name as written in the package: exact, else regardless of case and of a leading slash."""
        name = name.lstrip("/")
        if name in self._names:
            return name
        return self._folded.get(name.casefold())

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def read(self, name: str) -> bytes:
        """The whole of one member.

        Raises:
            KeyError: There is no such member.
            DamagedFile: Its data are broken.
            PasswordRequired: It is encrypted.
            LimitExceededInFile: The package expands too much.
        """
        with self.open(name) as stream:
            return stream.read()

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Streams one member; raises as `read` does, also while it is being read."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        info = self._names[found]
        if info.flag_bits & 0x1:
            raise PasswordRequired(message=f"{found} in the package is encrypted")
        # What a member admits about itself is refused before any of it is inflated; lies are found by counting.
        self._check(self._inflated + info.file_size, self._packed + info.compress_size)
        try:
            stream = self._package.open(info)
        except ZIP_ERRORS as error:
            raise DamagedFile(
                exception=error, message=f"{found} in the package cannot be unpacked ({error})"
            ) from error
        self._packed += info.compress_size
        with stream:
            yield io.BufferedReader(_CountedStream(stream, found, self), _BLOCK)

    def count(self, number: int) -> None:
        """Counts inflated bytes against the limits; called by the streams it hands out."""
        self._inflated += number
        self._check(self._inflated, self._packed)

    def _check(self, inflated: int, packed: int) -> None:
        limits = self._limits
        if inflated > limits.inflated_bytes:
            raise _bomb(f"over {limits.inflated_bytes:,} bytes come out of it")
        if inflated > limits.ratio_free_bytes and inflated > limits.inflate_ratio * max(packed, 1):
            raise _bomb(f"over {limits.inflate_ratio} bytes for each packed byte")


def _bomb(reason: str) -> LimitExceededInFile:
    """The error for a package that expands too much. It is refused whole: what came first is bait."""
    return LimitExceededInFile(message=f"the package expands too much: {reason}", extra={REFUSED: True})


class _CountedStream(io.RawIOBase):
    """Reads a member in blocks and tells the package how much came out."""

    def __init__(self, stream: IO[bytes], name: str, package: GuardedZip) -> None:
        self._stream = stream
        self._name = name
        self._guard = package

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(min(len(buffer), _BLOCK))
        except ZIP_ERRORS as error:
            raise DamagedFile(exception=error, message=f"{self._name} in the package is damaged ({error})") from error
        self._guard.count(len(data))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def open_zip(path: Path | IO[bytes], limits: ReadLimits) -> Iterator[GuardedZip]:
    """Opens a zip package under guard.

    Args:
        path: The file, or an open binary stream of it.
        limits: How much may come out of it.

    Raises:
        DamagedFile: It is no zip package, or its directory is broken.
        LimitExceededInFile: It has more members than allowed.
    """
    try:
        package = zipfile.ZipFile(path)
    except ZIP_ERRORS as error:
        raise DamagedFile(exception=error, message=f"not a readable zip package ({error})") from error
    with package:
        if len(package.infolist()) > limits.zip_entries:
            raise LimitExceededInFile(
                message=f"the package has {len(package.infolist()):,} members; the limit is {limits.zip_entries:,}"
            )
        yield GuardedZip(package, limits)


def checked_copy(path: Path, limits: ReadLimits) -> io.BytesIO:
    """The file in memory after every member of the zip package was inflated once and counted.

    For readers that open the package themselves (python-pptx, calamine): give them this stream, and what they
    inflate is known to stay within the limits. Members whose data are broken are left for the reader to judge.

    Raises:
        DamagedFile: It is no zip package.
        LimitExceededInFile: It expands too much or has too many members.
    """
    data = path.read_bytes()
    with open_zip(io.BytesIO(data), limits) as package:
        for name in package.names():
            if name.endswith("/"):
                continue
            try:
                with package.open(name) as stream:
                    while stream.read(_BLOCK):
                        pass
            except (DamagedFile, PasswordRequired):
                continue
    return io.BytesIO(data)


def xml_parser(**options: Any) -> Any:
    """An `lxml.etree.XMLParser` without entities, DTD or network, tolerant of errors.

    Args:
        options: Further arguments of `XMLParser`. `huge_tree` may be set where the bytes are already counted.
    """
    from lxml import etree

    settings: dict[str, Any] = {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "dtd_validation": False,
        "recover": True,
        "remove_comments": True,
        "remove_pis": True,
    }
    settings.update(options)
    return etree.XMLParser(**settings)
