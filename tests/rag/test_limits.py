"""Zip packages and XML under guard."""

from __future__ import annotations

import io
import struct
import time
import zipfile

import pytest

from qwen_agentkit.errors import DamagedFile, LimitExceededInFile, PasswordRequired
from qwen_agentkit.rag.guards import open_zip, xml_parser
from qwen_agentkit.rag.limits import ReadLimits, check_file_size


def package(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def written(tmp_path, data: bytes):
    path = tmp_path / "package.zip"
    path.write_bytes(data)
    return path


def test_a_member_is_read_whatever_the_case_of_its_name(tmp_path):
    with open_zip(written(tmp_path, package({"Word/Document.xml": b"<x/>"})), ReadLimits()) as guarded:
        assert guarded.names() == ["Word/Document.xml"]
        assert guarded.read("/word/document.xml") == b"<x/>"
        assert "word/document.xml" in guarded and "word/styles.xml" not in guarded
        with pytest.raises(KeyError):
            guarded.read("word/styles.xml")


def test_what_expands_too_much_is_refused_before_it_is_inflated(tmp_path):
    path = written(tmp_path, package({"a.xml": b"0" * 60_000_000}))
    start = time.process_time()
    with open_zip(path, ReadLimits()) as guarded, pytest.raises(LimitExceededInFile, match="100 bytes for each packed"):
        guarded.read("a.xml")
    assert time.process_time() - start < 0.1


def test_members_are_counted_together(tmp_path):
    data = bytes(range(256)) * 4096
    path = written(tmp_path, package({f"{n}.bin": data for n in range(3)}, zipfile.ZIP_STORED))
    with open_zip(path, ReadLimits(inflated_bytes=2_500_000)) as guarded:
        guarded.read("0.bin")
        guarded.read("1.bin")
        with pytest.raises(LimitExceededInFile, match="expands too much: over 2,500,000 bytes"):
            guarded.read("2.bin")


def test_a_declared_size_is_not_believed(tmp_path):
    data = bytearray(package({"a.xml": b"0" * 30_000_000}))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 100)  # the directory now says 100 bytes
    # zipfile stops at the declared size and finds the checksum wrong; never are 30 MB read.
    with (
        open_zip(written(tmp_path, bytes(data)), ReadLimits(inflated_bytes=1_000_000)) as guarded,
        pytest.raises((DamagedFile, LimitExceededInFile)),
    ):
        guarded.read("a.xml")


def test_more_members_than_allowed_are_refused(tmp_path):
    path = written(tmp_path, package({str(n): b"" for n in range(12)}))
    with pytest.raises(LimitExceededInFile, match="12 members"), open_zip(path, ReadLimits(zip_entries=10)):
        pass


def test_a_broken_member_and_a_broken_package_are_damaged_files(tmp_path):
    data = bytearray(package({"a.xml": b"hello hello hello hello hello"}))
    data[35:45] = b"\xff" * 10
    with open_zip(written(tmp_path, bytes(data)), ReadLimits()) as guarded, pytest.raises(DamagedFile, match=r"a\.xml"):
        guarded.read("a.xml")
    with pytest.raises(DamagedFile, match="not a readable zip"), open_zip(io.BytesIO(b"PK\x03\x04rest"), ReadLimits()):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_broken_member_is_a_damaged_file_however_it_is_packed(tmp_path, method):
    data = bytearray(package({"a.xml": bytes(range(256)) * 400}, method))
    data[60:110] = bytes(byte ^ 0x5A for byte in data[60:110])
    with open_zip(written(tmp_path, bytes(data)), ReadLimits()) as guarded, pytest.raises(DamagedFile, match=r"a\.xml"):
        guarded.read("a.xml")


def test_a_way_of_packing_that_nobody_knows_is_a_damaged_file(tmp_path):
    data = bytearray(package({"a.xml": b"hello"}))
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.find(mark) + place] = 99
    with open_zip(written(tmp_path, bytes(data)), ReadLimits()) as guarded, pytest.raises(DamagedFile, match=r"a\.xml"):
        guarded.read("a.xml")


def test_an_encrypted_member_asks_for_a_password(tmp_path):
    data = bytearray(package({"a.xml": b"hello"}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + place] |= 1
    with open_zip(written(tmp_path, bytes(data)), ReadLimits()) as guarded, pytest.raises(PasswordRequired):
        guarded.read("a.xml")


def test_a_file_beyond_the_size_limit_is_refused(tmp_path):
    path = written(tmp_path, b"12345")
    assert check_file_size(path, ReadLimits(file_bytes=5)) == 5
    with pytest.raises(LimitExceededInFile, match="5 bytes; the limit is 4"):
        check_file_size(path, ReadLimits(file_bytes=4))


def test_xml_entities_are_not_expanded_and_no_file_is_fetched(tmp_path):
    from lxml import etree

    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    text = f'<!DOCTYPE d [<!ENTITY f SYSTEM "{secret.as_uri()}"><!ENTITY e "boom">]><d><a>&f;&e;</a><c>kept</c></d>'
    root = etree.fromstring(text.encode(), xml_parser())
    whole = etree.tostring(root, method="text", encoding="unicode")
    assert "SECRET" not in whole and root.findtext("c") == "kept" and not root.findtext("a")


def test_entities_within_entities_do_not_multiply():
    from lxml import etree

    layers = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<!DOCTYPE d [<!ENTITY e0 "boom">{layers}]><d><c>kept</c><a>&e11;</a></d>'
    start = time.process_time()
    root = etree.fromstring(text.encode(), xml_parser())
    assert time.process_time() - start < 1
    assert len(etree.tostring(root, method="text")) < 1000
