"""The size of an image, read from the beginning of its file."""

from __future__ import annotations

import base64
import binascii
import os
import struct
from functools import lru_cache

# Bytes that hold the size in all but odd JPEG files (those with a large preview before it).
_HEAD = 64 * 1024
_JPEG_NO_SIZE = frozenset({0xC4, 0xC8, 0xCC})


def image_size(image: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP image; None where that cannot be told.

    Args:
        image: A `data:` text or the path of a local file. An address is never fetched.
    """
    if image.startswith("data:"):
        payload = image.partition(",")[2][: _HEAD * 4 // 3 // 4 * 4]
        try:
            return _size_in(base64.b64decode(payload + "=" * (-len(payload) % 4)))
        except (binascii.Error, ValueError):
            return None
    path = image.removeprefix("file://")
    if "://" in path or "\0" in path:
        return None
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return _size_of_file(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=1024)
def _size_of_file(path: str, modified: int, length: int) -> tuple[int, int] | None:
    try:
        with open(path, "rb") as file:
            return _size_in(file.read(_HEAD))
    except OSError:
        return None


def _size_in(head: bytes) -> tuple[int, int] | None:
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", head[16:24])
        if head[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", head[6:10])
        if head.startswith(b"\xff\xd8"):
            return _jpeg_size(head)
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _webp_size(head)
    except struct.error:
        pass  # the beginning is cut short
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 < len(head):
        if head[position] != 0xFF:
            return None
        marker = head[position + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            position += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _JPEG_NO_SIZE:
            height, width = struct.unpack(">HH", head[position + 5 : position + 9])
            return width, height
        position += 2 + struct.unpack(">H", head[position + 2 : position + 4])[0]
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
