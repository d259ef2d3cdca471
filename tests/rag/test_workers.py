"""Worker processes: what a file does to its reader stays there."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from qwen_agentkit.errors import (
    DamagedFile,
    DocParserError,
    LimitExceededInFile,
    PasswordRequired,
    UnsupportedFileType,
)
from qwen_agentkit.rag import workers
from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.reading import read_document
from qwen_agentkit.rag.worker_pool import pool
from qwen_agentkit.rag.workers import (
    ReadProgress,
    close_workers,
    read_document_in_worker,
    read_documents,
    worker_count,
)
from tests.rag.pdf_samples import PROSE, drawn, lines, scan


@pytest.fixture(autouse=True)
def fresh_workers():
    close_workers()
    yield
    close_workers()


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module for workers whose functions do what a hostile file would make a parser do."""
    folder = tmp_path / "traps"
    folder.mkdir()
    (folder / "trap.py").write_text(
        "import ctypes, os, time\n"
        "def hang(picture): time.sleep(600)\n"
        "def hang_in_c(picture): ctypes.PyDLL(None).sleep(600)\n"
        "def crash(picture): os.abort()\n"
        "def leave(picture): os._exit(3)\n"
        "def nap(picture): time.sleep(0.4); return 'Read by eye.'\n"
        "def fill(picture): return str(len(bytearray(8_000_000_000)))\n"
        "def chatter(picture): os.write(1, b'noise on the pipe'); print('more noise'); return 'Read by eye.'\n"
    )
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def half_scanned(tmp_path):
    """A PDF with a page of text and a scanned one after it: OCR is where the traps lie."""
    import io

    import pypdfium2

    merged = pypdfium2.PdfDocument.new()
    for data in (drawn(lambda canvas: lines(canvas, PROSE)), scan()):
        merged.import_pages(pypdfium2.PdfDocument(data))
    stream = io.BytesIO()
    merged.save(stream)
    path = tmp_path / "half.pdf"
    path.write_bytes(stream.getvalue())
    return path


@pytest.fixture
def scanned(tmp_path):
    path = tmp_path / "scan.pdf"
    path.write_bytes(scan())
    return path


def samples(tmp_path, count: int) -> list[str]:
    paths = []
    for number in range(count):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"This is text number {number}.")
        paths.append(str(path))
    return paths


def test_a_worker_gives_what_this_process_would(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(drawn(*[lambda canvas: lines(canvas, PROSE)] * 3))
    assert read_document_in_worker(path) == read_document(path)


def test_many_files_come_as_they_are_finished(tmp_path):
    paths = samples(tmp_path, 25)
    results = dict(read_documents(paths))
    assert {path: results[path].text for path in paths} == {
        path: f"This is text number {number}." for number, path in enumerate(paths)
    }


def test_one_bad_file_is_an_answer_and_the_rest_go_on(tmp_path):
    good = samples(tmp_path, 3)
    blob = tmp_path / "blob.xyz"
    blob.write_bytes(bytes(range(256)))
    missing = str(tmp_path / "missing.txt")
    results = dict(read_documents([good[0], str(blob), missing, *good[1:]]))
    assert isinstance(results[str(blob)], UnsupportedFileType) and "blob.xyz" in str(results[str(blob)])
    assert isinstance(results[missing], DocParserError) and "no such file" in str(results[missing])
    assert all(isinstance(results[path], Document) for path in good)


def test_errors_keep_their_kind(tmp_path):
    from tests.rag.test_pdf_engines import locked

    path = tmp_path / "locked.pdf"
    path.write_bytes(locked("s3cret"))
    with pytest.raises(PasswordRequired):
        read_document_in_worker(path)
    assert "KILO" in read_document_in_worker(path, password="s3cret").text
    assert "KILO" in read_document_in_worker(path, password={str(path): "s3cret"}).text


def test_workers_live_on_between_calls(tmp_path):
    (path,) = samples(tmp_path, 1)
    read_document_in_worker(path)
    (worker,) = pool()._idle
    for _ in range(5):
        read_document_in_worker(path)
    assert pool()._idle == [worker]


def test_there_is_at_most_one_worker_a_core(tmp_path):
    list(read_documents(samples(tmp_path, 12), workers=50))
    assert 1 <= len(pool()._idle) <= worker_count()


def test_no_second_worker_is_started_for_what_the_first_has_soon_read(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_START_SECONDS", 30.0)
    start = time.monotonic()
    assert len(list(read_documents(samples(tmp_path, 12)))) == 12
    assert time.monotonic() - start < 20, "the other threads waited in vain"
    assert len(pool()._idle) == 1


def test_files_that_take_long_get_a_worker_a_core(trap, scanned, tmp_path):
    paths = []
    for number in range(4):
        paths.append(tmp_path / f"scan{number}.pdf")
        paths[-1].write_bytes(scanned.read_bytes())
    assert all(isinstance(result, Document) for _, result in read_documents(paths, ocr="trap:nap"))
    assert len(pool()._idle) == min(4, worker_count())


@pytest.mark.parametrize("trap_name", ["hang", "hang_in_c"])
def test_a_file_that_hangs_is_ended_and_what_was_read_is_kept(trap, half_scanned, trap_name):
    start = time.monotonic()
    document = read_document_in_worker(half_scanned, ocr=f"trap:{trap_name}", seconds=2.5)
    assert time.monotonic() - start < 10
    assert document.text == " ".join(PROSE)
    assert document.warnings == ["reading it takes longer than 2.5 seconds a page; what was read before is kept"]


def test_a_file_that_hangs_from_the_start_is_an_error(trap, scanned):
    with pytest.raises(LimitExceededInFile, match=r"scan\.pdf: reading it takes longer than 1 seconds"):
        read_document_in_worker(scanned, ocr="trap:hang", seconds=1)


@pytest.mark.parametrize("trap_name", ["crash", "leave"])
def test_a_file_that_crashes_its_reader_is_an_error_and_the_next_is_read(trap, scanned, tmp_path, trap_name):
    results = dict(read_documents([scanned, *samples(tmp_path, 3)], ocr=f"trap:{trap_name}", workers=1))
    assert isinstance(results.pop(str(scanned)), DamagedFile)
    assert all(isinstance(result, Document) for result in results.values()) and len(results) == 3


def test_a_worker_that_ended_leaves_nothing_behind(trap, scanned, tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files are not told here")
    before = len(os.listdir("/proc/self/fd"))
    list(read_documents([scanned, *samples(tmp_path, 2)] * 3, ocr="trap:leave", workers=1))
    close_workers()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_file_that_fills_memory_is_bounded(trap, half_scanned):
    pytest.importorskip("resource")
    document = read_document_in_worker(half_scanned, ocr="trap:fill", memory=400_000_000)
    assert document.text == " ".join(PROSE)
    assert document.warnings == ["reading it takes more memory than allowed; what was read before is kept"]


def test_what_libraries_print_does_not_reach_the_pipe(trap, scanned):
    assert read_document_in_worker(scanned, ocr="trap:chatter").text == "Read by eye."


def test_modules_beside_the_documents_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "lxml.py").write_text("raise SystemExit('imported from the folder of the documents')")
    page = tmp_path / "a.html"
    page.write_text("<html><p>Words of the page.</p></html>")
    monkeypatch.chdir(tmp_path)
    assert "Words of the page." in read_document_in_worker("a.html").text


def test_a_worker_follows_when_the_current_folder_changes(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"This is folder {name}.")
        monkeypatch.chdir(tmp_path / name)
        assert read_document_in_worker("a.txt").text == f"This is folder {name}."


def test_progress_is_told_in_the_callers_thread(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(drawn(*[lambda canvas: lines(canvas, PROSE)] * 2))
    told: list[ReadProgress] = []
    list(read_documents([path, *samples(tmp_path, 2)], progress=told.append))
    assert [event.files_done for event in told if event.pages is None] == [1, 2, 3]
    assert told[-1].files == 3
    assert (2, 2) in [(event.pages_done, event.pages) for event in told if event.path == str(path)]


def test_cancelling_ends_the_reading(trap, scanned):
    start = time.monotonic()
    results = list(read_documents([scanned], ocr="trap:hang", cancelled=lambda: time.monotonic() - start > 1))
    assert results == [] and time.monotonic() - start < 10


def test_leaving_the_loop_ends_what_is_being_read(trap, scanned, tmp_path):
    reading = read_documents([*samples(tmp_path, 1), scanned], ocr="trap:hang", workers=1)
    next(reading)
    start = time.monotonic()
    reading.close()
    assert time.monotonic() - start < 5


def test_what_was_read_before_comes_from_the_cache(trap, scanned, tmp_path):
    paths = [*samples(tmp_path, 3), str(scanned)]
    with DocumentCache(tmp_path / "cache") as cache:
        first = dict(read_documents(paths, cache=cache))
        close_workers()
        again = dict(read_documents(paths, cache=cache))
        assert again == first
        assert pool()._idle == []  # nobody was asked
        (tmp_path / "0.txt").write_text("Edited.")
        assert dict(read_documents(paths, cache=cache))[paths[0]].text == "Edited."


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    samples(tmp_path, 2)
    script = tmp_path / "script.py"
    script.write_text(
        "print('started')\n"
        "from qwen_agentkit.rag.workers import read_documents\n"
        f"for path, document in read_documents([{str(tmp_path / '0.txt')!r}, {str(tmp_path / '1.txt')!r}]):\n"
        "    print(document.text)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "This is text number 0.", "This is text number 1.", "started"]


def test_workers_end_with_their_parent(tmp_path):
    samples(tmp_path, 1)
    code = (
        "import os\nfrom qwen_agentkit.rag import worker_pool, workers\n"
        f"list(workers.read_documents([{str(tmp_path / '0.txt')!r}]))\n"
        "print(worker_pool.pool()._idle[0].process.pid, flush=True)\nos._exit(1)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{pid}/stat", encoding="ascii") as status:
            if status.read().split()[2] == "Z":
                return
        time.sleep(0.05)
    pytest.fail("the worker outlived its parent")


def test_nothing_that_only_some_systems_have_is_needed_to_import():
    code = (
        "import sys\n"
        "for name in ('resource', 'fcntl', 'pwd', 'grp', 'termios'): sys.modules[name] = None\n"
        "import qwen_agentkit.rag.workers, qwen_agentkit.rag.worker as worker, qwen_agentkit.rag.cache\n"
        "assert worker.limit_memory(10**9) is False\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "poppler"}, "engine"),
        ({"seconds": 0}, "seconds"),
        ({"memory": -1}, "memory"),
        ({"workers": 0}, "workers"),
        ({"ocr": lambda picture: ""}, "package.module:function"),
    ],
)
def test_a_wrong_option_is_refused_at_the_call(options, words):
    with pytest.raises(ValueError, match=words):
        read_documents(["a.txt"], **options)


def test_no_file_is_no_result():
    assert list(read_documents([])) == []
