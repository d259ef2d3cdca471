"""`read_document`: what comes of a file of any kind, and how a failure is named."""

from __future__ import annotations

import importlib.util
import os
import threading

import pytest

from qwen_agentkit.errors import (
    DamagedFile,
    EmptyDocument,
    LimitExceededInFile,
    PasswordRequired,
    UnsupportedFileType,
)
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.reading import PARSERS, read_document
from tests.rag.pdf_samples import PROSE, drawn, lines, scan
from tests.rag.test_sniff import ole, zipped


def saved(tmp_path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_every_kind_has_its_parser():
    for module in set(PARSERS.values()):
        assert importlib.util.find_spec(f"qwen_agentkit.rag.parsers.{module}"), module


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in its file system")
def test_a_pipe_or_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", "/dev/zero"):
        with pytest.raises(UnsupportedFileType, match="no regular file"):
            read_document(path)


def test_a_document_says_where_it_is_from(tmp_path):
    path = saved(tmp_path, "a.txt", b"Hello there.")
    document = read_document(path)
    assert (document.source, document.title, document.file_type) == (str(path.resolve()), "a.txt", "txt")
    assert read_document(path, source="https://host.example/a.txt").source == "https://host.example/a.txt"


def test_links_are_resolved(tmp_path):
    path = saved(tmp_path, "a.txt", b"Hello there.")
    link = tmp_path / "link.txt"
    try:
        os.symlink(path, link)
    except OSError:
        pytest.skip("no symbolic links here")
    assert read_document(link).source == str(path.resolve())


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("a.txt", b"", EmptyDocument, "empty"),
        ("b.txt", b" \n\t\n ", EmptyDocument, "no text"),
        ("blob.xyz", bytes(range(256)) * 8, UnsupportedFileType, "Supported: pdf docx"),
        ("old.doc", ole("WordDocument"), UnsupportedFileType, r"save it as \.docx"),
        ("old.ppt", ole("PowerPoint Document"), UnsupportedFileType, r"save it as \.pptx"),
        ("a.zip", zipped("a.txt"), UnsupportedFileType, "unpack it first"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 20, UnsupportedFileType, "picture"),
        ("locked.xlsx", ole("EncryptedPackage"), PasswordRequired, "encrypted"),
        ("cut.docx", zipped("word/document.xml")[:60], DamagedFile, "zip"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_file(tmp_path, name, content, error, words):
    path = saved(tmp_path, name, content)
    with pytest.raises(error, match=words) as caught:
        read_document(path)
    assert str(caught.value).startswith(str(path.resolve())) and str(caught.value).count(name) == 1


def test_a_file_that_is_not_what_its_name_says_is_read_with_a_word(tmp_path):
    document = read_document(saved(tmp_path, "login.pdf", b"<!DOCTYPE html><p>Please sign in.</p>"))
    assert document.file_type == "html" and "Please sign in." in document.text
    assert document.warnings == ["the name ends in .pdf, but the content is html; it was read as html"]


def test_a_file_too_large_is_not_opened(tmp_path):
    path = saved(tmp_path, "a.txt", b"x" * 2000)
    with pytest.raises(LimitExceededInFile, match="2,000 bytes; the limit is 1,000"):
        read_document(path, limits=ReadLimits(file_bytes=1000))


def test_a_bomb_is_refused_whole(tmp_path):
    import io
    import zipfile

    stream = io.BytesIO()
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "<w:p><w:r><w:t>bait</w:t></w:r></w:p>" * 400_000
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
    with pytest.raises(LimitExceededInFile, match="expands too much"):
        read_document(saved(tmp_path, "bomb.docx", stream.getvalue()))


def test_a_missing_file_and_a_folder_are_the_callers_mistake(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.pdf"):
        read_document(tmp_path / "nothing.pdf")
    with pytest.raises(IsADirectoryError, match="folder"):
        read_document(tmp_path)


def test_the_word_none_is_never_the_text(tmp_path):
    for name, content in {"a.epub": zipped("META-INF/container.xml"), "b.odt": zipped("content.xml")}.items():
        try:
            text = read_document(saved(tmp_path, name, content)).text
        except (DamagedFile, EmptyDocument):
            continue
        assert "None" not in text


def test_threads_may_read_pdfs_at_once(tmp_path):
    paths = [
        saved(tmp_path, f"{n}.pdf", drawn(*[lambda canvas, n=n: lines(canvas, [f"Token T{n}X", *PROSE])] * 8))
        for n in range(4)
    ]
    found: dict[int, str] = {}

    def read(number: int) -> None:
        found[number] = read_document(paths[number]).text

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"T{n}X" in found[n] for n in range(4))


def test_blocks_are_told_as_they_are_read(tmp_path):
    told = []
    document = read_document(
        saved(tmp_path, "a.pdf", drawn(*[lambda canvas: lines(canvas, PROSE)] * 2)), on_block=told.append
    )
    assert told == document.blocks


def test_a_scan_is_a_document_with_a_warning_and_no_error(tmp_path):
    document = read_document(saved(tmp_path, "a.pdf", scan()))
    assert document.text == "" and document.warnings
