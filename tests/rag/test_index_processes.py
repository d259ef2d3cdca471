"""`DocumentIndex` under several threads and processes, and after a process was killed."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qwen_agentkit.rag.index import DocumentIndex

ROOT = str(Path(__file__).resolve().parents[2])


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))


def run(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        text=True,
    )


KILLED = """
import os, sys
from qwen_agentkit.rag.catalog import Catalog
from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.store_tantivy import TantivyStore

path, when = sys.argv[1:]
index = DocumentIndex(path)

def dies(cls, name, before):
    real = getattr(cls, name)
    def method(self, *args, **kwargs):
        if before:
            os._exit(9)
        result = real(self, *args, **kwargs)
        os._exit(9)
    setattr(cls, name, method)

dies(*{
    "before the terms": (TantivyStore, "add", True),
    "before the commit": (TantivyStore, "commit", True),
    "after the commit": (TantivyStore, "commit", False),
    "while it is published": (Catalog, "publish", False),
    "while the store is made anew": (TantivyStore, "end_writing", True),
}[when])
index.add_texts([("a", "The motor is new."), ("b", "The pump is new.")])
"""


@pytest.mark.parametrize(
    ("when", "state"),
    [
        ("before the terms", "old"),
        ("before the commit", "old"),
        ("after the commit", "old"),
        ("while it is published", "old"),
        ("while the store is made anew", "new"),
    ],
)
def test_a_killed_writer_leaves_the_old_state_or_the_new(tmp_path, when, state):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        index.add_texts([("a", "The motor is old."), ("c", "The hose is old.")])
    assert run(KILLED, path, when).wait(60) == 9
    with DocumentIndex(path) as index:
        found = {hit.source: hit.text for hit in index.search("motor pump hose")}
        old = {"a": "The motor is old.", "c": "The hose is old."}
        new = {"a": "The motor is new.", "b": "The pump is new.", "c": "The hose is old."}
        assert found == (old if state == "old" else new)
        # The next writer clears up and goes on.
        index.add_texts([("a", "The motor is new."), ("b", "The pump is new.")])
        assert {hit.source: hit.text for hit in index.search("motor pump hose")} == new
        assert index.stats["chunks"] == 3


def test_a_damaged_or_missing_store_is_made_anew_from_the_catalog(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        index.add_texts([("a", "The motor is old.")])
    (folder,) = path.glob("terms-*")
    (folder / "meta.json").write_text("{ damaged")
    with DocumentIndex(path) as index:
        assert index.search("motor")
    shutil.rmtree(next(path.glob("terms-*")))
    with DocumentIndex(path) as index:
        assert index.search("motor")


def test_another_way_of_cutting_terms_makes_the_store_anew(tmp_path, monkeypatch):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        index.add_texts([("a", "The motor is old.")])
    monkeypatch.setattr("qwen_agentkit.rag.index_files.SEGMENT_VERSION", 99)
    with DocumentIndex(path) as index:
        assert index.search("motor")
    with DocumentIndex(path, store="memory") as index:
        index.add_texts([("b", "The motor is young.")])
    with DocumentIndex(path) as index:  # what was written without tantivy is in its store now
        assert {hit.source for hit in index.search("motor")} == {"a", "b"}


def test_a_foreign_file_is_no_index(tmp_path):
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "catalog.sqlite").write_text("this is no database at all, but a text of some length" * 20)
    with pytest.raises(ValueError, match="index"):
        DocumentIndex(tmp_path / "index")


HOLDS = """
import sys, time
from qwen_agentkit.rag.index import DocumentIndex
with DocumentIndex(sys.argv[1]) as index, index._writing(None):
    print("holding", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_second_writer_waits_and_readers_do_not(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        index.add_texts([("a", "The motor.")])
        other = run(HOLDS, path, 1.5)
        assert other.stdout.readline().strip() == "holding"
        began = time.monotonic()
        assert index.search("motor") and time.monotonic() - began < 0.5
        with pytest.raises(TimeoutError, match="writer"):
            index.add_texts([("b", "The pump.")], wait=0.2)
        assert index.add_texts([("b", "The pump.")]).added == ["b"]
        assert time.monotonic() - began > 0.8
        other.wait(30)


def test_a_writer_that_is_killed_lets_go(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        other = run(HOLDS, path, 60)
        other.stdout.readline()
        other.kill()
        other.wait(30)
        assert index.add_texts([("b", "The pump.")], wait=10).added == ["b"]


WRITES = """
import sys
from qwen_agentkit.rag.index import DocumentIndex
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with DocumentIndex(path) as index:
    for number in range(count):
        index.add_texts([(f"{name}{number}", f"The motor {name} of run {number}.")])
"""


def test_several_writers_and_readers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path) as index:
        writers = [run(WRITES, path, name, 6) for name in "xy"]
        seen = 0
        while any(writer.poll() is None for writer in writers):
            count = len(index.search("motor", top_k=50))
            assert count >= seen  # what was seen once stays
            seen = count
            time.sleep(0.02)
        assert [writer.returncode for writer in writers] == [0, 0]
        assert len(index.search("motor", top_k=50)) == 12


def test_threads_share_one_index():
    errors = []
    with DocumentIndex() as index:
        index.add_texts([(f"t{n}", f"motor {n}") for n in range(50)])

        def reads():
            try:
                for _ in range(60):
                    assert len(index.search("motor", top_k=20)) == 20
            except Exception as error:
                errors.append(error)

        def writes():
            try:
                for number in range(5):
                    index.add_texts([(f"t{number}", f"motor again {number}")])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for work in (reads, reads, writes, writes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_index_anew(tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        index.add_texts([("a", "The motor.")])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                index.add_texts([("b", "The motor too.")])
                code = 0 if len(index.search("motor")) == 2 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(index.search("motor")) == 2


def test_edits_do_not_grow_the_index_without_bound(tmp_path):
    sizes = []
    with DocumentIndex(tmp_path / "index") as index:
        index.add_texts([(f"t{n}", f"motor {n} " * 20) for n in range(50)])
        for round_ in range(25):
            index.add_texts([(f"t{n}", f"motor {n} {round_} " * 20) for n in range(50)])
            sizes.append(index.stats["bytes"])
        assert max(sizes[12:]) <= 2 * max(sizes[:12])
        assert len(list((tmp_path / "index").glob("terms-*"))) == 1
        assert index.clean() >= 0 and index.search("motor")
