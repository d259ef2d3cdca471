"""Pictures inside documents, kept for models that see."""

from __future__ import annotations

import re

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import DocumentImage

_FILE_NAME = re.compile(r"(?:.*[/\\])?[^/\\]+\.(?:png|jpe?g|gif|bmp|tiff?|webp|svg|emf|wmf)", re.IGNORECASE)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


def image_type(data: bytes) -> str | None:
    """Media type of a picture by its first bytes; None for what models do not read (WMF, EMF, drawings)."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def spoken_description(text: str | None) -> str:
    """Alternative text of a picture on one line; '' when it is only the name of a file, as programs write it."""
    words = " ".join((text or "").split())
    return "" if _FILE_NAME.fullmatch(words) else words


def keep_image(builder: DocumentBuilder, data: bytes, *, name: str | None = None, page: int | None = None) -> None:
    """Keeps a picture in the document, with a warning for kinds that models do not read.

    Args:
        builder: The document being read.
        data: The picture file.
        name: Its alternative text or file name.
        page: 1-based page or slide.
    """
    media_type = image_type(data)
    if media_type is None:
        builder.warn(f"a picture of a kind that models do not read was left out: {name or 'without a name'}")
        return
    builder.add_image(DocumentImage(media_type, data, page, name))
