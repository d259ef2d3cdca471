"""Scans are read by whatever the setting names, everywhere that files are read."""

import time

import pytest

from qwen_agentkit.memory import Memory
from qwen_agentkit.rag import DocumentIndex
from qwen_agentkit.rag.reading import read_document
from qwen_agentkit.rag.workers import read_document_in_worker
from tests.rag.pdf_samples import scan

OURS = "tests.rag.test_ocr:letters"


def letters(picture):
    """Stands for a recogniser: it takes a picture and gives its text."""
    assert picture.startswith(b"\x89PNG")
    return "The scanned motor is guaranteed for 27 months."


@pytest.fixture
def scanned(tmp_path):
    file = tmp_path / "scan.pdf"
    file.write_bytes(scan())
    return file


def test_a_scan_that_nothing_reads_says_what_to_do(scanned):
    with DocumentIndex() as index:
        (problem,) = index.add([scanned]).problems
    assert "QWEN_AGENTKIT_OCR=rapidocr" in problem.reason and "qwen-agentkit[ocr]" in problem.reason


def test_the_setting_names_what_reads_scans(scanned, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_OCR", OURS)
    assert "27 months" in read_document(scanned).text
    assert "27 months" not in read_document(scanned, ocr=False).text
    with DocumentIndex() as index:
        assert index.add([scanned]).problems == []
        assert "27 months" in index.search("scanned motor")[0].text


def test_a_scan_is_read_anew_once_there_is_something_that_reads_it(scanned, tmp_path, monkeypatch):
    with DocumentIndex(tmp_path / "index") as index:
        assert index.add([scanned]).problems
        monkeypatch.setenv("QWEN_AGENTKIT_OCR", OURS)
        index.add([scanned])
        assert "27 months" in index.search("scanned motor")[0].text


def test_questions_to_a_scan_find_its_text(scanned, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_OCR", OURS)
    memory = Memory(files=[str(scanned)])
    *_, response = memory.run([{"role": "user", "content": "How long is the motor guaranteed?"}])
    assert "27 months" in str(response[-1]["content"]) and memory.problems == []


def slowly(picture):
    """A recogniser that takes its time with each page."""
    time.sleep(0.7)
    return letters(picture)


def test_the_time_limit_is_for_each_page_where_pages_are_recognised(tmp_path):
    file = tmp_path / "scan.pdf"
    file.write_bytes(scan(4))
    document = read_document_in_worker(file, ocr="tests.rag.test_ocr:slowly", seconds=2)
    assert document.text.count("27 months") == 4
    assert not any("longer" in warning for warning in document.warnings)


@pytest.mark.parametrize("wrong", ["tesseract", "a:", ":b", "1"])
def test_a_setting_that_names_nothing_is_refused(wrong, scanned, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_OCR", wrong)
    with pytest.raises(ValueError, match=r"rapidocr or package\.module:function"):
        read_document(scanned)
