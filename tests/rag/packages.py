"""Small documents for the tests of the parsers, written by hand so that each says exactly what it tests."""

from __future__ import annotations

import zipfile
from pathlib import Path

from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.reading import read_document

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_zip(path: Path, parts: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip package of the given parts."""
    with zipfile.ZipFile(path, "w", compression) as package:
        for name, data in parts.items():
            package.writestr(name, data)
    return path


def rels(**links: tuple[str, str]) -> str:
    """A relationships part: id=(kind, target); a kind may be a whole address."""
    lines = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if target.startswith('http') else ''}/>"
        for key, (kind, target) in links.items()
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'
    )


def docx(path: Path, body: str, links: dict[str, tuple[str, str]] | None = None, **parts: str | bytes) -> Path:
    """A DOCX with the given body; parts are named `word/<name with _ for .>`."""
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": rels(r1=("officeDocument", "word/document.xml")),
        "word/document.xml": (
            f'<w:document xmlns:w="{W}" xmlns:r="{OFFICE}" xmlns:a="{A}" '
            'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
            'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
            'xmlns:v="urn:schemas-microsoft-com:vml" '
            'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
            f"<w:body>{body}</w:body></w:document>"
        ),
        "word/_rels/document.xml.rels": rels(**(links or {})),
    }
    for name, data in parts.items():
        if isinstance(data, str):
            data = data.replace(">", f' xmlns:w="{W}" xmlns:a="{A}">', 1)
        files[f"word/{name.replace('_xml', '.xml').replace('_png', '.png')}"] = data
    return write_zip(path, files)


def para(text: str, properties: str = "") -> str:
    """A paragraph of one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


def kinds(document: Document) -> list[tuple[str, str]]:
    """Kind and text of every block."""
    return [(block.kind, block.text) for block in document.blocks]


def texts(document: Document) -> list[str]:
    """Text of every block."""
    return [block.text for block in document.blocks]


__all__ = ["A", "OFFICE", "P", "S", "W", "docx", "kinds", "para", "read_document", "rels", "texts", "write_zip"]
