"""What DOCX, PPTX and XLSX packages have in common: parts, relationships, core properties, encryption (ECMA-376)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qwen_agentkit.errors import DamagedFile, PasswordRequired, UnsupportedFileType
from qwen_agentkit.rag.guards import GuardedZip, open_zip, xml_parser
from qwen_agentkit.rag.limits import ReadLimits

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAMS = tuple(name.encode("utf-16-le") for name in ("EncryptedPackage", "EncryptionInfo"))


@dataclass(frozen=True, slots=True)
class Relationship:
    """A link from one part to another.

    Args:
        kind: Last part of its type's address: `header`, `image`, `hyperlink`, `diagramData`, ...
        target: Name of the part inside the package, or the address when external.
        external: True when the target is outside the package.
    """

    kind: str
    target: str
    external: bool


@contextmanager
def open_package(path: Path, limits: ReadLimits) -> Iterator[GuardedZip]:
    """Opens an Office Open XML package under guard.

    Raises:
        PasswordRequired: It is encrypted, which wraps the package in an OLE file.
        UnsupportedFileType: It is a file of Office 97 to 2003.
        DamagedFile: It is no package at all.
    """
    check_not_ole(path)
    with open_zip(path, limits) as package:
        yield package


def check_not_ole(path: Path) -> None:
    """Raises for an OLE file: PasswordRequired when an encrypted package is in it, else UnsupportedFileType."""
    with open(path, "rb") as stream:
        if stream.read(8) != OLE_MAGIC:
            return
        if is_encrypted_package(stream.read()):
            raise PasswordRequired(
                message="the document is encrypted with a password; save it without one to have it read"
            )
    raise UnsupportedFileType(message="a file of Office 97 to 2003; save it in the newer format (.docx, .pptx, .xlsx)")


def is_encrypted_package(data: bytes) -> bool:
    """True when an OLE file's directory names the streams of an encrypted Office package ([MS-OFFCRYPTO])."""
    return any(name in data for name in _ENCRYPTED_STREAMS)


class _LocalNames(dict[Any, str]):
    """Names without their namespaces, kept because a document asks for the same few a million times."""

    def __missing__(self, tag: Any) -> str:
        name = tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""
        if len(self) < _MOST_NAMES:  # a file may invent as many as it likes
            self[tag] = name
        return name


_MOST_NAMES = 5_000
_LOCAL_NAMES = _LocalNames()


def local(tag: Any) -> str:
    """Name of an element without its namespace, which differs between strict and transitional files."""
    return _LOCAL_NAMES[tag]


def attribute(element: Any, name: str) -> str | None:
    """Value of an attribute by its local name, whatever its namespace."""
    value = element.get(name)
    if value is not None:
        return value
    for key, value in element.attrib.items():
        if local(key) == name:
            return value
    return None


def is_on(element: Any) -> bool:
    """Value of an on-off property: present without a value is on."""
    return (attribute(element, "val") or "true").lower() not in ("0", "false", "off")


def read_xml(package: GuardedZip, part: str) -> Any | None:
    """Root element of an XML part; None when the part is not there or nothing in it can be parsed.

    Raises:
        DamagedFile: The part's data are broken.
        LimitExceededInFile: The package expands too much.
    """
    from lxml import etree

    if part not in package:
        return None
    try:
        return etree.fromstring(package.read(part), _parser())
    except (etree.XMLSyntaxError, ValueError):
        return None


@cache
def _parser() -> Any:
    return xml_parser(huge_tree=True)  # one for all parts: making it takes longer than parsing a small one


def relationships(package: GuardedZip, part: str) -> dict[str, Relationship]:
    """Links of a part by their ids; those that lead nowhere (`NULL`, a part that is missing) are left out.

    Args:
        package: The open package.
        part: Name of the part; '' for the package itself.
    """
    folder, name = posixpath.split(part.replace("\\", "/"))
    try:
        root = read_xml(package, posixpath.join(folder, "_rels", f"{name}.rels"))
    except DamagedFile:
        root = None  # what it linked is looked for in its usual place, or missing
    found: dict[str, Relationship] = {}
    for element in root if root is not None else ():
        key, target = element.get("Id"), element.get("Target")
        if not key or not target:
            continue
        kind = (element.get("Type") or "").rstrip("/").rpartition("/")[2]
        if (element.get("TargetMode") or "").lower() == "external":
            found[key] = Relationship(kind, target, True)
            continue
        target = target.partition("#")[0].replace("\\", "/")
        resolved = posixpath.normpath(target if target.startswith("/") else posixpath.join(folder, target)).lstrip("/")
        for candidate in (resolved, unquote(resolved)):
            actual = package.find(candidate)
            if actual is not None:
                found[key] = Relationship(kind, actual, False)
                break
    return found


def main_part(package: GuardedZip, usual: str) -> str:
    """Name of the package's main part.

    Args:
        package: The open package.
        usual: Where it stands when the package does not say.

    Raises:
        DamagedFile: There is none.
    """
    for link in relationships(package, "").values():
        if link.kind == "officeDocument" and not link.external:
            return link.target
    found = package.find(usual)
    if found is None:
        raise DamagedFile(message=f"the package has no main part ({usual})")
    return found


def core_title(package: GuardedZip) -> str | None:
    """Title from the core properties, if it says something."""
    part = next((link.target for link in relationships(package, "").values() if link.kind == "core-properties"), None)
    root = read_xml(package, part or "docProps/core.xml")
    for element in root if root is not None else ():
        if local(element.tag) == "title" and (element.text or "").strip():
            return element.text.strip()
    return None
