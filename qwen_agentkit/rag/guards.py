"""Guards that hold the limits of reading for zip packages and XML.

Sizes that a file declares about itself are never believed: bytes are counted as they are really inflated.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from qwen_agentkit.errors import DamagedFile, LimitExceededInFile, PasswordRequired
from qwen_agentkit.rag.limits import REFUSED, ReadLimits

_LZMA_ERRORS: tuple[type[Exception], ...] = ()
try:
    import lzma

    _LZMA_ERRORS = (lzma.LZMAError,)
except ImportError:
    pass  # a Python built without it unpacks no such member

_BLOCK = 1 << 16

ZIP_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    *_LZMA_ERRORS,
    struct.error,
    EOFError,
    OSError,  # also of bz2
    ValueError,
    IndexError,
    OverflowError,
    RuntimeError,  # also, as NotImplementedError, a way of packing that zipfile does not know
)
"""What `zipfile` raises over a broken package."""


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
