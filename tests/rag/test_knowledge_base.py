"""Knowledge bases: one index for a set of files, shared by the questions that are asked at the same time."""

import gc
import shutil
import threading

import pytest

from qwen_agentkit import settings
from qwen_agentkit.rag import knowledge_base as module
from qwen_agentkit.rag.knowledge_base import knowledge_base


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))


def asked(file):
    base = knowledge_base([str(file)], 500)
    assert base.refresh() == []
    return base


def test_a_base_in_use_stays_open_when_many_others_are_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(module._open, "most", 2)
    files = [tmp_path / f"{number}.txt" for number in range(5)]
    for number, file in enumerate(files):
        file.write_text(f"The code of the room is K{number}.")
    first = asked(files[0])
    for file in files[1:]:
        asked(file)
    assert "K0" in first.search("code of the room", 1)[0].text


def test_an_index_that_no_base_rests_on_any_more_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(module._open, "most", 1)
    (tmp_path / "a.txt").write_text("The lamp burns for 900 hours.")
    (tmp_path / "b.txt").write_text("The soup is served at 6.")
    base = asked(tmp_path / "a.txt")
    index = base._index
    asked(tmp_path / "b.txt")
    assert index.totals()["chunks"] == 1
    del base
    gc.collect()
    with pytest.raises(ValueError, match="closed"):
        index.search("lamp")


def test_a_workspace_that_was_removed_is_made_anew_by_the_next_question(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("The lamp burns for 900 hours.")
    asked(file)
    shutil.rmtree(settings.DEFAULT_WORKSPACE)
    file.write_text("The lamp burns for 1200 hours, since March.")
    assert "1200 hours" in asked(file).search("lamp hours", 5)[0].text


def test_what_one_question_reads_beside_a_busy_index_is_not_taken_from_it_by_another(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("The lamp burns for 900 hours.")
    asked(file)
    file.write_text("The lamp burns for 1200 hours, since March.")
    question = knowledge_base([str(file)], 500)
    writing, done = threading.Event(), threading.Event()

    def write() -> None:
        with knowledge_base([str(file)], 500)._index._write_lock.hold():
            writing.set()
            done.wait(30)

    writer = threading.Thread(target=write)
    writer.start()
    assert writing.wait(30)
    assert question.refresh(wait=0.1) == []
    done.set()
    writer.join()
    asked(file)  # another question, that could write
    assert [hit.text for hit in question.search("lamp hours", 5)] == ["The lamp burns for 1200 hours, since March."]
    assert question.passages(str(file.resolve()))[0].text.startswith("The lamp burns for 1200")


def test_a_lock_that_a_starting_process_holds_for_a_moment_is_waited_for(tmp_path):
    pytest.importorskip("tantivy")
    fcntl = pytest.importorskip("fcntl")
    file = tmp_path / "a.txt"
    file.write_text("The lamp burns for 900 hours.")
    base = asked(file)
    (lock,) = base._index.path.glob("terms-*/.tantivy-writer.lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        release = threading.Timer(0.3, fcntl.flock, (held, fcntl.LOCK_UN))
        release.start()
        file.write_text("The lamp burns for 1200 hours, since March.")
        assert "1200 hours" in asked(file).search("lamp hours", 1)[0].text
        release.join()
