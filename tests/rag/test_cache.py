"""Documents that were read before: an unchanged file costs a stat, a changed one is seen."""

from __future__ import annotations

import builtins
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qwen_agentkit.errors import DamagedFile, DocParserError, PasswordRequired
from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.chunking import chunk_document
from qwen_agentkit.rag.document import Block, Document
from qwen_agentkit.rag.reading import read_document

OPTIONS = {"engine": "auto"}


@pytest.fixture
def cache(tmp_path):
    with DocumentCache(tmp_path / "cache") as opened:
        yield opened


def aged(path: Path) -> Path:
    """A file whose time of change is long past, as of most files."""
    past = time.time() - 3600
    os.utime(path, (past, past))
    return path


def written(tmp_path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def keep(cache: DocumentCache, path: Path, options=OPTIONS) -> Document:
    state = cache.state_of(path)
    document = read_document(path)
    cache.store(path, options, document, state)
    return document


def test_what_was_read_is_found_again(tmp_path, cache):
    path = written(tmp_path, "a.txt", "The motor is guaranteed.")
    assert cache.lookup(path, OPTIONS) is None
    document = keep(cache, path)
    assert cache.lookup(path, OPTIONS) == document


def test_an_edited_file_is_read_again_even_with_the_same_size_and_time(tmp_path, cache):
    path = written(tmp_path, "a.txt", "version one")
    keep(cache, path)
    before = path.stat()
    path.write_text("version two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.lookup(path, OPTIONS) is None


def test_an_unchanged_file_is_not_opened(tmp_path, cache, monkeypatch):
    path = aged(written(tmp_path, "a.txt", "The motor is guaranteed."))
    keep(cache, path)
    # The time of the entry itself cannot be set back, so that the first seconds are waited for.
    time.sleep(max(0.0, path.stat().st_ctime + 2.1 - time.time()))
    cache.lookup(path, OPTIONS)
    opened = []
    real = builtins.open
    monkeypatch.setattr(builtins, "open", lambda name, *a, **k: opened.append(name) or real(name, *a, **k))
    assert cache.lookup(path, OPTIONS) is not None
    assert opened == []


def test_a_renamed_or_copied_file_is_not_read_again(tmp_path, cache):
    path = written(tmp_path, "a.txt", "The motor is guaranteed.")
    keep(cache, path)
    moved = path.rename(tmp_path / "b.txt")
    found = cache.lookup(moved, OPTIONS)
    assert (found.source, found.title) == (str(moved.resolve()), "b.txt")


def test_other_options_are_another_reading(tmp_path, cache):
    path = written(tmp_path, "a.txt", "text")
    keep(cache, path)
    assert cache.lookup(path, {"engine": "pdfminer"}) is None


def test_another_ending_is_another_reading(tmp_path, cache):
    keep(cache, written(tmp_path, "a.txt", "# text"))
    assert cache.lookup(written(tmp_path, "a.md", "# text"), OPTIONS) is None


def test_another_parser_version_is_another_reading(tmp_path, cache, monkeypatch):
    path = written(tmp_path, "a.txt", "text")
    keep(cache, path)
    monkeypatch.setattr("qwen_agentkit.rag.cache.PARSER_VERSION", "next")
    assert cache.lookup(path, OPTIONS) is None


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path, cache):
    path = written(tmp_path, "a.txt", "old")
    state = cache.state_of(path)
    document = read_document(path)
    path.write_text("newer")
    cache.store(path, OPTIONS, document, state)
    assert cache.lookup(path, OPTIONS) is None


def test_a_failure_is_remembered_until_the_file_changes(tmp_path, cache):
    path = written(tmp_path, "a.pdf", "%PDF-1.4 nothing")
    with pytest.raises(DamagedFile) as caught:
        read_document(path)
    cache.store(path, OPTIONS, caught.value, cache.state_of(path))
    again = cache.lookup(path, OPTIONS)
    assert isinstance(again, DamagedFile) and str(again) == str(caught.value)
    moved = path.rename(tmp_path / "b.pdf")
    assert "b.pdf" in str(cache.lookup(moved, OPTIONS)) and "a.pdf" not in str(cache.lookup(moved, OPTIONS))
    moved.write_text("%PDF-1.4 other")
    assert cache.lookup(moved, OPTIONS) is None


def test_a_missing_password_is_asked_for_each_time_and_no_password_is_kept(tmp_path, cache):
    path = written(tmp_path, "a.txt", "text")
    cache.store(path, OPTIONS, PasswordRequired(message="locked"), cache.state_of(path))
    cache.store(path, OPTIONS, DocParserError(message="no process"), cache.state_of(path))
    assert cache.lookup(path, OPTIONS) is None
    keep(cache, path, {"password": "s3cret-words"})
    assert cache.lookup(path, {"password": "s3cret-words"}) is not None
    assert cache.lookup(path, {"password": "other"}) is None
    cache.close()
    assert all(b"s3cret-words" not in file.read_bytes() for file in cache.folder.iterdir())


def test_chunks_are_kept_by_their_sizes(tmp_path, cache):
    path = written(tmp_path, "a.txt", "One sentence. " * 300)
    chunks = chunk_document(keep(cache, path), 100, 10)
    cache.store_chunks(path, OPTIONS, 100, 10, chunks, cache.state_of(path))
    assert cache.lookup_chunks(path, OPTIONS, 100, 10) == chunks
    assert cache.lookup_chunks(path, OPTIONS, 200, 10) is None


def test_forgetting_erases_the_text_unless_another_file_has_it(tmp_path, cache):
    first, second = written(tmp_path, "a.txt", "SECRET-TEXT"), written(tmp_path, "b.txt", "SECRET-TEXT")
    keep(cache, first)
    keep(cache, second)
    cache.forget(first)
    assert cache.lookup(second, OPTIONS) is not None
    cache.forget(second)
    assert cache.stats() == {"documents": 0, "chunk_lists": 0, "files": 0, "bytes": 0}


def test_what_is_forgotten_is_gone_from_the_disk(tmp_path, cache):
    path = written(tmp_path, "a.txt", "The agreed price is 4711 crowns and not to be told.")
    keep(cache, path)
    with sqlite3.connect(cache.folder / "cache.sqlite") as connection:
        (packed,) = connection.execute("SELECT data FROM entries").fetchone()
    connection.close()
    assert any(packed in file.read_bytes() for file in cache.folder.iterdir())
    cache.forget(path)
    assert not any(packed in file.read_bytes() for file in cache.folder.iterdir())


def test_cleaning_drops_what_was_not_used(tmp_path, cache):
    keep(cache, written(tmp_path, "a.txt", "text"))
    assert cache.clean(older_than=3600) == 0
    assert cache.clean() > 0
    assert cache.stats()["documents"] == 0


def test_growth_is_bounded(tmp_path):
    import random

    rng = random.Random(5)
    with DocumentCache(tmp_path / "cache", max_bytes=20_000) as cache:
        paths = [written(tmp_path, f"{n}.txt", " ".join(str(rng.random()) for _ in range(200))) for n in range(20)]
        for path in paths:
            keep(cache, path)
        assert 0 < cache.stats()["bytes"] <= 20_000
        assert cache.lookup(paths[-1], OPTIONS) is not None and cache.lookup(paths[0], OPTIONS) is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_folder_is_the_users_alone(tmp_path, cache):
    keep(cache, written(tmp_path, "a.txt", "text"))
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 for file in cache.folder.iterdir())


def test_a_broken_cache_is_made_anew(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "cache.sqlite").write_bytes(b"this is no database " * 500)
    path = written(tmp_path, "a.txt", "text")
    with DocumentCache(folder) as cache:
        keep(cache, path)
        assert cache.lookup(path, OPTIONS) is not None


def test_a_cache_of_another_layout_is_made_anew(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    with sqlite3.connect(folder / "cache.sqlite") as connection:
        connection.execute("CREATE TABLE entries (other TEXT)")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    path = written(tmp_path, "a.txt", "text")
    with DocumentCache(folder) as cache:
        keep(cache, path)
        assert cache.lookup(path, OPTIONS) is not None


def test_a_broken_entry_is_a_miss(tmp_path, cache):
    path = written(tmp_path, "a.txt", "text")
    keep(cache, path)
    with sqlite3.connect(cache.folder / "cache.sqlite") as connection:
        connection.execute("UPDATE entries SET data = x'0102'")
    connection.close()
    assert cache.lookup(path, OPTIONS) is None
    keep(cache, path)
    assert cache.lookup(path, OPTIONS) is not None


def test_a_cache_that_cannot_be_made_is_gone_without(tmp_path):
    blocked = written(tmp_path, "blocked", "a file where the folder would be")
    path = written(tmp_path, "a.txt", "text")
    with DocumentCache(blocked) as cache:
        keep(cache, path)
        assert cache.lookup(path, OPTIONS) is None


def test_two_processes_and_threads_share_a_cache(tmp_path):
    folder = tmp_path / "cache"
    paths = [written(tmp_path, f"{n}.txt", f"text number {n}") for n in range(30)]
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from qwen_agentkit.rag.cache import DocumentCache\n"
        "from qwen_agentkit.rag.reading import read_document\n"
        "with DocumentCache(sys.argv[1]) as cache:\n"
        "    for name in sys.argv[2:]:\n"
        "        cache.store(name, {}, read_document(name), cache.state_of(name))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(folder), *map(str, paths)]
    processes = [subprocess.Popen(command, env=environment) for _ in range(2)]
    with DocumentCache(folder) as cache:
        threads = [threading.Thread(target=lambda: [keep(cache, path, {}) for path in paths]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [process.wait(60) for process in processes] == [0, 0]
        assert all(cache.lookup(path, {}).text == f"text number {n}" for n, path in enumerate(paths))
        assert cache.stats()["documents"] == 30


def test_a_copy_opens_the_folder_itself(tmp_path, cache):
    import copy
    import pickle

    path = written(tmp_path, "a.txt", "text")
    keep(cache, path)
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        with other:
            assert other.lookup(path, OPTIONS) is not None


def test_a_document_with_everything_comes_back_whole(tmp_path, cache):
    path = written(tmp_path, "a.txt", "text")
    document = Document(
        str(path.resolve()), "Own title", "xlsx", [Block("table", "| a |", sheet="S", rows=(1, 2))], 4, ["one", "two"]
    )
    cache.store(path, OPTIONS, document, cache.state_of(path))
    assert cache.lookup(path, OPTIONS) == document
