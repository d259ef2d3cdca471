import zipfile

import pytest

from qwen_agentkit.errors import DamagedFile, PasswordRequired
from tests.rag.packages import kinds, read_document, texts, write_zip

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def page(body):
    return (
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>not the book</title></head><body>{body}</body></html>'
    )


def book(path, order=("a", "b", "c"), extra=None, **chapters):
    names = list(chapters)
    manifest = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="{n}"/>' for n in order)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>Small Book</dc:title></metadata><manifest>{manifest}"
        '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    nav = page('<nav><ol><li><a href="b.xhtml">Named in the contents</a></li></ol></nav>')
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf}
    parts |= {"OEBPS/nav.xhtml": nav} | {f"OEBPS/{n}.xhtml": page(body) for n, body in chapters.items()}
    return write_zip(path, parts | (extra or {}), zipfile.ZIP_STORED)


def test_chapters_come_in_the_order_of_the_spine_with_their_headings(tmp_path):
    path = book(tmp_path / "a.epub", order=("b", "a"), a="<h1>Alpha</h1><p>one</p>", b="<p>two</p>")
    document = read_document(path)
    assert document.title == "Small Book"
    assert kinds(document) == [
        ("heading", "Named in the contents"),
        ("text", "two"),
        ("heading", "Alpha"),
        ("text", "one"),
    ]


def test_a_damaged_chapter_costs_itself_and_a_warning(tmp_path):
    path = book(tmp_path / "a.epub", a="<p>ALPHA</p>", b="<p>BRAVO</p>", c="<p>CHARLIE</p>")
    path.write_bytes(path.read_bytes().replace(b"BRAVO", b"BRAXX"))
    document = read_document(path)
    assert texts(document) == ["ALPHA", "CHARLIE"]
    assert len(document.warnings) == 1 and "chapter 2" in document.warnings[0]


def test_a_book_without_its_list_is_read_by_file_names(tmp_path):
    parts = {"mimetype": "application/epub+zip", "2.html": page("<p>two</p>"), "1.html": page("<p>one</p>")}
    document = read_document(write_zip(tmp_path / "a.epub", parts))
    assert texts(document) == ["one", "two"]
    assert "list of chapters is missing" in document.warnings[0]


def test_a_protected_book_says_so(tmp_path):
    encryption = (
        '<encryption xmlns:e="x"><e:EncryptedData><e:EncryptionMethod Algorithm="aes"/><e:CipherData>'
        '<e:CipherReference URI="OEBPS/a.xhtml"/></e:CipherData></e:EncryptedData></encryption>'
    )
    path = book(tmp_path / "a.epub", order=("a",), a="<p>x</p>", extra={"META-INF/encryption.xml": encryption})
    with pytest.raises(PasswordRequired, match="DRM"):
        read_document(path)


def test_a_book_without_pages_is_damaged(tmp_path):
    with pytest.raises(DamagedFile):
        read_document(write_zip(tmp_path / "a.epub", {"mimetype": "application/epub+zip"}))
