"""Many vectors: the graph finds what comparing all finds, through edits, filters, restarts and damage."""

import numpy
import pytest

from qwen_agentkit.rag import DocumentIndex, vector_graph, vector_index

pytest.importorskip("faiss", reason="faiss is not installed (extra vectors)")

SIZE = 24


def meaning(texts):
    """Vectors around forty centres, which the texts name."""
    centres = numpy.random.default_rng(7).normal(size=(40, SIZE))
    rows = []
    for text in texts:
        number = int("".join(filter(str.isdigit, text)) or 0)
        rows.append(centres[number % 40] + 0.4 * numpy.random.default_rng(number).normal(size=SIZE))
    return numpy.array(rows)


def texts(first, last):
    return [(f"t{number}", f"Text number {number}.") for number in range(first, last)]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(vector_index, "EXACT_UP_TO", 300)


def questions():
    rows = meaning([f"question {number}" for number in range(5000, 5040)]).astype("float32")
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def recall(index, documents=None):
    exact = vector_index.ExactVectors(index._catalog)
    found = index.vectors()
    assert isinstance(found, vector_graph.GraphVectors) and len(found) == len(exact)
    shares = []
    for question in questions():
        right = {chunk for chunk, _ in exact.search(question, 10, documents)}
        mine = found.search(question, 10, documents)
        assert [score for _, score in mine] == sorted((score for _, score in mine), reverse=True)
        shares.append(len(right & {chunk for chunk, _ in mine}) / len(right))
    return sum(shares) / len(shares)


def test_the_graph_finds_what_comparing_all_finds(tmp_path):
    with DocumentIndex(tmp_path / "index", meaning) as index:
        index.add_texts(texts(0, 1500))
        assert recall(index) >= 0.99
        some = {entry.id for entry in index.entries()[::3]}
        assert recall(index, some) == 1.0  # few enough that all of them are compared
        assert index.search("number 77", top_k=3)[0].searcher == "hybrid"


def test_a_filter_that_allows_many_goes_through_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_graph, "_COMPARED", 100)
    with DocumentIndex(tmp_path / "index", meaning) as index:
        index.add_texts(texts(0, 1500))
        some = {entry.id for entry in index.entries()[::2]}
        assert recall(index, some) >= 0.99


def test_removed_and_added_passages_count_at_once_and_after_a_restart(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path, meaning) as index:
        index.add_texts(texts(0, 1000))
        index.remove([f"t{number}" for number in range(0, 150)])
        index.add_texts(texts(1000, 1020))
        assert recall(index) >= 0.99 and len(index.vectors()) == 870
        files = list(path.glob("vectors-*.hnsw"))
        assert len(files) == 1
    with DocumentIndex(path, meaning) as index:
        assert recall(index) >= 0.99 and len(index.vectors()) == 870
        index.remove([f"t{number}" for number in range(150, 500)])
        assert len(index.vectors()._graph.chunks()) == 520  # mostly removed ones: made anew
        index.remove([f"t{number}" for number in range(500, 900)])
        assert isinstance(index.vectors(), vector_index.ExactVectors) and not list(path.glob("vectors-*.hnsw"))


def test_a_reader_adds_what_is_newer_than_the_file(tmp_path, monkeypatch):
    path = tmp_path / "index"
    with DocumentIndex(path, meaning) as index, DocumentIndex(path, meaning) as reader:
        index.add_texts(texts(0, 1000))
        before = [file.stat().st_mtime_ns for file in path.glob("vectors-*.hnsw")]
        assert recall(reader) >= 0.99
        index.add_texts(texts(1000, 1003))
        assert [file.stat().st_mtime_ns for file in path.glob("vectors-*.hnsw")] == before  # too few to write it
        assert recall(reader) >= 0.99 and len(reader.vectors()) == 1003


def test_another_embedder_has_another_graph_and_a_damaged_file_costs_itself(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path, meaning) as index:
        index.add_texts(texts(0, 400))
    with DocumentIndex(path, lambda given: meaning(given)[:, ::-1][:, :20]) as index:
        index.add_texts(texts(400, 401))
        (file,) = path.glob("vectors-*.hnsw")
        assert index.vectors()._graph.dimension == 20
    file.write_bytes(b"no graph")
    with DocumentIndex(path, lambda given: meaning(given)[:, ::-1][:, :20]) as index:
        assert isinstance(index.vectors(), vector_index.ExactVectors)
        index.clean()
        assert isinstance(index.vectors(), vector_graph.GraphVectors)


def test_an_index_in_memory_has_one_too():
    with DocumentIndex(embedder=meaning) as index:
        index.add_texts(texts(0, 400))
        assert recall(index) >= 0.99


def test_without_faiss_every_vector_is_compared(monkeypatch, caplog):
    def absent(module, **names):
        if module == "faiss":
            raise vector_graph.MissingDependencyError("faiss is needed: pip install 'qwen-agentkit[vectors]'")
        return numpy

    monkeypatch.setattr(vector_graph, "need", absent)
    with DocumentIndex(embedder=meaning) as index:
        index.add_texts(texts(0, 400))
        assert isinstance(index.vectors(), vector_index.ExactVectors) and len(index.vectors()) == 400
    assert "qwen-agentkit[vectors]" in caplog.text
