"""EPUB: chapters in the order of the spine, read as HTML (W3C EPUB 3.3, and EPUB 2)."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qwen_agentkit.errors import DamagedFile, PasswordRequired
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import HEADING
from qwen_agentkit.rag.guards import GuardedZip, open_zip
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.html import add_html
from qwen_agentkit.rag.parsers.media import keep_image
from qwen_agentkit.rag.parsers.ooxml import attribute, local, read_xml

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_PAGES = (".xhtml", ".html", ".htm")
# Encryption of fonts only is no protection of the text.
_FONT_ENCRYPTION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads an EPUB into the builder, chapter by chapter.

    Args:
        path: The file.
        builder: Takes the blocks, warnings and pictures. A chapter that cannot be read costs itself and a warning.
        options: `keep_images` keeps pictures, `limits` bound what comes out of the package.

    Raises:
        PasswordRequired: The chapters are encrypted (DRM).
        DamagedFile: There is no chapter in it.
        LimitExceededInFile: The package expands too much, or holds too much text.
    """
    with open_zip(path, options.limits) as package:
        locked = _encrypted_parts(package)
        chapters, labels = _spine(package, builder)
        if not chapters:
            raise DamagedFile(message="the book names no chapters and holds no pages")
        if locked and all(chapter in locked for chapter in chapters):
            raise PasswordRequired(message="the book is protected by DRM and cannot be read here")
        for number, chapter in enumerate(chapters, 1):
            if chapter in locked:
                builder.warn(f"chapter {number} ({chapter}) is encrypted and was not read")
                continue
            _add_chapter(package, chapter, number, labels.get(chapter), builder)
            builder.progress(number, len(chapters))
        if not builder.blocks and any(name.lower().endswith(_PICTURES) for name in package.names()):
            builder.warn("the book holds pictures and no text; OCR is needed to read it")
        if options.keep_images:
            _keep_images(package, builder)


def _add_chapter(package: GuardedZip, name: str, number: int, label: str | None, builder: DocumentBuilder) -> None:
    try:
        data = package.read(name)
    except (DamagedFile, KeyError) as error:
        reason = error.message if isinstance(error, DamagedFile) else "it is missing"
        builder.warn(f"chapter {number} ({name}) was not read: {reason}")
        return
    chapter = DocumentBuilder(builder.source, builder.file_type, builder.limits)
    add_html(data, chapter, set_title=False)
    for warning in chapter.warnings:
        builder.warn(f"chapter {number}: {warning}")
    if label and chapter.blocks and not any(block.kind == HEADING for block in chapter.blocks[:3]):
        builder.add(HEADING, label, level=1)
    for block in chapter.blocks:
        builder.add(block.kind, block.text, level=block.level)


def _spine(package: GuardedZip, builder: DocumentBuilder) -> tuple[list[str], dict[str, str]]:
    """Chapters in reading order, and the names that the table of contents gives them."""
    part = _package_document(package)
    root = read_xml(package, part) if part else None
    if root is None:
        builder.warn("the book's list of chapters is missing; pages are in the order of their file names")
        return sorted(name for name in package.names() if name.lower().endswith(_PAGES)), {}
    folder = posixpath.dirname(part or "")
    manifest: dict[str, Any] = {}
    order: list[str] = []
    for element in root.iter():
        name = local(element.tag)
        if name == "item":
            manifest[element.get("id") or ""] = element
        elif name == "itemref":
            order.append(element.get("idref") or "")
        elif name == "title" and (element.text or "").strip() and not builder.title:
            builder.title = element.text
    items = [manifest[key] for key in order if key in manifest] or [
        item for item in manifest.values() if "html" in (item.get("media-type") or "")
    ]
    chapters = []
    for item in items:
        if "nav" in (item.get("properties") or "").split() and len(items) > 1:
            continue
        chapters.append(_resolve(package, folder, item.get("href") or ""))
    labels: dict[str, str] = {}
    for item in manifest.values():
        if "nav" in (item.get("properties") or "").split() or item.get("media-type") == "application/x-dtbncx+xml":
            _read_contents(package, _resolve(package, folder, item.get("href") or ""), labels)
    return chapters, labels


def _package_document(package: GuardedZip) -> str | None:
    root = read_xml(package, "META-INF/container.xml")
    for element in root.iter() if root is not None else ():
        if local(element.tag) == "rootfile":
            found = package.find(unquote(element.get("full-path") or ""))
            if found:
                return found
    return next((name for name in package.names() if name.lower().endswith(".opf")), None)


def _resolve(package: GuardedZip, folder: str, reference: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, reference.partition("#")[0]))
    return package.find(unquote(path)) or package.find(path) or path


def _read_contents(package: GuardedZip, part: str, labels: dict[str, str]) -> None:
    """Names of chapters from an NCX or a navigation page, the first for each page."""
    try:
        root = read_xml(package, part)
    except DamagedFile:
        return  # the table of contents is a help only; the chapters are read without it
    folder = posixpath.dirname(part)
    for element in root.iter() if root is not None else ():
        name = local(element.tag)
        if name == "navPoint":
            label = " ".join("".join(element[0].itertext()).split()) if len(element) else ""
            target = next((attribute(one, "src") for one in element if local(one.tag) == "content"), None)
        elif name == "a":
            label, target = " ".join("".join(element.itertext()).split()), element.get("href")
        else:
            continue
        if label and target and "#" not in target:
            labels.setdefault(_resolve(package, folder, target), label)


def _encrypted_parts(package: GuardedZip) -> set[str]:
    root = read_xml(package, "META-INF/encryption.xml")
    parts: set[str] = set()
    for element in root.iter() if root is not None else ():
        if local(element.tag) != "EncryptedData":
            continue
        method = next((one.get("Algorithm") for one in element if local(one.tag) == "EncryptionMethod"), "")
        if method in _FONT_ENCRYPTION:
            continue
        for one in element.iter():
            if local(one.tag) == "CipherReference":
                parts.add(package.find(unquote(one.get("URI") or "")) or "")
    return parts - {""}


def _keep_images(package: GuardedZip, builder: DocumentBuilder) -> None:
    for name in package.names():
        if name.lower().endswith(_PICTURES):
            try:
                keep_image(builder, package.read(name), name=name.rpartition("/")[2])
            except DamagedFile as error:
                builder.warn(f"a picture could not be read: {error.message}")
