"""Paths and addresses of documents and pictures: what kind they are, and their text."""

from __future__ import annotations

import os
import re
from pathlib import Path

from qwen_agentkit.log import logger
from qwen_agentkit.utils.optional import need
from qwen_agentkit.utils.work_dir import local_path, name_of

_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
_DOCUMENT_TYPES = frozenset({"pdf", "docx", "pptx", "csv", "tsv", "xlsx", "xls"})
_PLAIN_ENDINGS = frozenset({"txt", "md", "markdown", "rst", "json", "jsonl", "log", "yaml", "yml", "toml", "py"})
_HTML = re.compile(r"<(?:!doctype html|html|head|body|p|span|div|li|script)\b[^>]*>", re.IGNORECASE)


def is_http_url(path_or_url: str) -> bool:
    """Whether it is an http or https address."""
    return path_or_url.startswith(("https://", "http://"))


def is_image(path_or_url: str) -> bool:
    """Whether the name ends like that of a picture."""
    return name_of(path_or_url).lower().endswith(_IMAGE_ENDINGS)


def sanitize_chrome_file_path(file_path: str) -> str:
    """The path that a `file:` address, or a Windows path under WSL, means; anything else as it is."""
    path = local_path(file_path)
    if os.path.exists(path):
        return path
    drive = re.match(r"/?([A-Za-z]):[/\\](.*)", path)
    if drive:
        mounted = f"/mnt/{drive[1].lower()}/{drive[2]}".replace("\\", "/")
        if os.path.exists(mounted):
            return mounted
    return path


def read_text_from_file(path: str) -> str:
    """The text of a file: UTF-8, or the encoding that its bytes suggest."""
    raw = Path(path).read_bytes()
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        best = need("charset_normalizer").from_bytes(raw).best()
        if best is None:
            raise ValueError(f"{path} is not text in any known encoding") from None
        return str(best).replace("\r\n", "\n")


def get_file_type(path: str) -> str:
    """The kind of document: pdf, docx, pptx, csv, tsv, xlsx, xls, html, txt, or unk.

    Decided by the name; where it says nothing, by what the server says or the file holds.
    """
    ending = name_of(path).rpartition(".")[2].lower()
    if ending in _DOCUMENT_TYPES:
        return ending
    if is_http_url(path):
        return _type_of_address(path)
    if ending in ("html", "htm", "xhtml"):
        return "html"
    try:
        with open(sanitize_chrome_file_path(path), "rb") as stream:
            start = stream.read(65536)
    except OSError as error:
        logger.warning("The kind of %s cannot be told: %s", path, error)
        return "unk"
    if ending in _PLAIN_ENDINGS:
        return "txt"
    if b"\x00" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "pdf" if start.startswith(b"%PDF-") else "unk"
    return "html" if _HTML.search(start.decode("utf-8", "replace")) else "txt"


def _type_of_address(url: str) -> str:
    from qwen_agentkit.errors import ToolServiceError
    from qwen_agentkit.utils.web import fetch

    by_content_type = {
        "application/pdf": "pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.ms-excel": "xls",
        "text/csv": "csv",
        "text/tab-separated-values": "tsv",
        "text/plain": "txt",
        "text/markdown": "txt",
    }
    try:
        content_type = fetch(url, method="HEAD", seconds=5).content_type
    except ToolServiceError as error:
        logger.warning("The kind of %s cannot be told: %s", url, error)
        return "unk"
    # A page is what most addresses without an ending hold.
    return by_content_type.get(content_type, "html")
