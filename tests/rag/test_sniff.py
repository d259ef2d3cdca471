"""A file is what its content says; its name is only a hint."""

from __future__ import annotations

import io
import zipfile

import pytest

from qwen_agentkit.rag.sniff import sniff


def zipped(*names: str, mimetype: str | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        if mimetype is not None:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "x")
    return stream.getvalue()


def ole(stream_name: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512 + stream_name.encode("utf-16-le") + b"\0\0" + b"\0" * 512


CASES = {
    "report.pdf": (b"%PDF-1.4\n", "pdf"),
    "no_name": (b"\n\n%PDF-1.4\n", "pdf"),
    "mail.pdf": (b"Content-Type: application/pdf\n\n%PDF-1.4\n", "pdf"),
    "about_pdf.md": (b"Each file begins with %PDF-1.7 and a line break.", "md"),
    "login.pdf": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "html"),
    "a.docx": (zipped("[Content_Types].xml", "word/document.xml"), "docx"),
    "strange.doc": (zipped("[Content_Types].xml", "word/document.xml"), "docx"),
    "a.pptx": (zipped("[Content_Types].xml", "ppt/presentation.xml"), "pptx"),
    "list.csv": (zipped("[Content_Types].xml", "xl/workbook.xml"), "xlsx"),
    "a.xlsb": (zipped("[Content_Types].xml", "xl/workbook.bin"), "xlsb"),
    "book.zip": (zipped("META-INF/container.xml", mimetype="application/epub+zip"), "epub"),
    "a.odt": (zipped("content.xml", mimetype="application/vnd.oasis.opendocument.text"), "odt"),
    "a.ods": (zipped("content.xml", mimetype="application/vnd.oasis.opendocument.spreadsheet"), "ods"),
    "many.zip": (zipped("a.txt", "b.txt"), "zip"),
    "cut.docx": (zipped("word/document.xml")[:40], "docx"),
    "old.xls": (ole("Workbook"), "xls"),
    "old.doc": (ole("WordDocument"), "doc"),
    "old.ppt": (ole("PowerPoint Document"), "ppt"),
    "locked.xlsx": (ole("EncryptedPackage"), "ooxml-encrypted"),
    "table.xls": (b"<html><table><tr><td>1</td></tr></table></html>", "html"),
    "tabs.xls": (b"a\tb\n1\t2\n", "tsv"),
    "a.rtf": (rb"{\rtf1\ansi hello}", "rtf"),
    "letter.txt": (rb"{\rtf1\ansi hello}", "rtf"),
    "mail": (b"Received: from x\r\nSubject: y\r\n\r\nbody", "eml"),
    "a.md": (b"# Title\n<div>kept</div>\n", "md"),
    "page.txt": (b"<!doctype html><html><p>x</p></html>", "html"),
    "a.csv": (b"a,b\n1,2\n", "csv"),
    "a.tsv": (b"a\tb\n", "tsv"),
    "a.json": (b'{"a": 1}', "json"),
    "a.jsonl": (b'{"a": 1}\n{"a": 2}\n', "jsonl"),
    "a.ipynb": (b'{"cells": []}', "ipynb"),
    "a.xml": (b"<?xml version='1.0'?><a/>", "xml"),
    "a.py": (b"print('<html>')\n", "code"),
    "Makefile": (b"all:\n\ttrue\n", "code"),
    "notes": (b"plain words", "txt"),
    "wide.txt": ("Zoë and 李雷".encode("utf-16"), "txt"),
    "bare.txt": ("plain words in utf-16".encode("utf-16-le"), "txt"),
    "cjk16.txt": ("没有标记的中文文本，也应当被读作文本。".encode("utf-16-le"), "txt"),
    "gbk.txt": ("采购管理办法".encode("gbk"), "txt"),
    "blob.xyz": (bytes(range(256)) * 8, "binary"),
    "server.log": (b"started\n" * 40 + b"\0" * 8 + b"stopped\n" * 40, "txt"),
    "blob.csv": (bytes(range(256)) * 8, "binary"),
    "photo.pdf": (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "png"),
    "BM.txt": (b"BMW is a make of cars", "txt"),
    "empty.pdf": (b"", "empty"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_kind_is_found(name, tmp_path):
    content, kind = CASES[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert sniff(path) == kind


def test_a_package_whose_first_member_is_broken_is_still_told(tmp_path):
    content = bytearray(zipped("content.xml", mimetype="application/vnd.oasis.opendocument.text"))
    stored, deflated = b"\x00\x00", b"\x08\x00"
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(mark) + place
        assert content[at : at + 2] == stored
        content[at : at + 2] = deflated  # the plain words are no deflated data
    path = tmp_path / "a.odt"
    path.write_bytes(content)
    assert sniff(path) == "odt"
