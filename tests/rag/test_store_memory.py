"""Small sets in memory, and tantivy absent."""

import sys

import pytest

from qwen_agentkit.rag.index import DocumentIndex
from qwen_agentkit.rag.store import open_store
from qwen_agentkit.rag.store_memory import MemoryStore


def test_without_tantivy_the_index_is_ranked_in_memory(monkeypatch, caplog, tmp_path):
    monkeypatch.setitem(sys.modules, "tantivy", None)  # importing it fails
    with caplog.at_level("WARNING"), DocumentIndex(tmp_path / "index") as index:
        index.add_texts([("a", "The motor is guaranteed."), ("b", "The pump is blue.")])
        assert index.search("guarantee of the motor")[0].source == "a"
        assert index.stats["store"] == "memory" and "tantivy" in caplog.text
    with DocumentIndex(tmp_path / "index") as index:
        assert index.search("moter")[0].source == "a"


def test_what_is_written_is_seen_after_a_commit_only():
    store = MemoryStore(lambda: [])
    store.add(1, 10, ["motor"])
    assert store.search({"motor": 1.0}, 5) == []
    store.commit()
    assert [chunk for chunk, _ in store.search({"motor": 1.0}, 5)] == [10]
    store.add(2, 20, ["motor"])
    store.end_writing()  # dropped
    store.delete(1)
    store.commit()
    assert store.search({"motor": 1.0}, 5) == [] and store.facts(["motor"]) == (0, {"motor": 0})


def test_scores_are_shares_and_documents_can_be_chosen():
    store = MemoryStore(lambda: [(10, 1, ["motor", "blue"]), (20, 2, ["motor"]), (30, 3, ["pump"])])
    found = store.search({"motor": 1.0, "blue": 1.0}, 5)
    assert [chunk for chunk, _ in found] == [10, 20] and 0 < found[1][1] < found[0][1] <= 1
    assert [chunk for chunk, _ in store.search({"motor": 1.0}, 5, [2])] == [20]
    store.close()
    assert store.search({"motor": 1.0}, 5) == []


def test_an_unknown_store_is_refused():
    with pytest.raises(ValueError, match="tantivy"):
        open_store("chroma", None, lambda: [])
