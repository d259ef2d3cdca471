"""The same index over Milvus, here milvus-lite in a file: what is found, kept, taken out, and told apart."""

import pickle
import shutil

import pytest

from qwen_agentkit.rag import DocumentIndex
from qwen_agentkit.rag.store_milvus import as_word

pytest.importorskip("pymilvus", reason="pymilvus is not installed (extra milvus)")
pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")

TEXTS = [
    ("motor", "The motor KX-41 is guaranteed for 27 months from the date of purchase."),
    ("filter", "Clean the filter of the pump every two weeks. Use no alcohol."),
    ("保修", "电动机自购买之日起保修27个月。电池保修12个月。"),
    ("code", "Call read_all_rows with version v2.3.1 of the library."),
]
QUESTIONS = [
    "guarantee of the motor",
    "kx-41",
    "how to clean the filter",
    "电动机保修多久",
    "read_all_rows v2.3.1",
    "電動機",
]
# Words that mean the same have the same place in the vectors.
MEANINGS = [{"motor", "engine"}, {"clean", "wash"}, {"library", "package"}, {"guaranteed", "warranty"}]


def meaning(texts):
    words = [set(text.lower().replace(".", " ").replace("?", " ").split()) for text in texts]
    return [[1.0 if own & same else 0.01 for same in MEANINGS] for own in words]


def store(tmp_path, **more):
    return {"name": "milvus", "uri": str(tmp_path / "server.db"), **more}


@pytest.fixture
def index(tmp_path):
    with DocumentIndex(tmp_path / "index", store=store(tmp_path)) as index:
        assert not index.add_texts(TEXTS).problems
        yield index


def test_milvus_finds_what_tantivy_finds_and_tells_the_same_of_it(index):
    with DocumentIndex() as other:
        other.add_texts(TEXTS)
        for question in QUESTIONS:
            mine, its = index.search(question, top_k=3), other.search(question, top_k=3)
            assert [hit.source for hit in mine] == [hit.source for hit in its], question
            for one, another in zip(mine, its, strict=True):
                assert (one.text, one.start, one.end, one.section) == (another.text, another.start, another.end, None)
                assert one.why["terms"] == another.why["terms"] and one.searcher == "keyword"
                assert one.score == pytest.approx(another.score, abs=0.25) and 0 < one.score <= 1
    assert index.stats["store"] == "milvus"


def test_an_explanation_counts_in_milvus(index):
    hit = index.search("motor guaranteed")[0]
    parts = {part.term: part for part in index.explain(hit).terms}
    assert parts["motor"].chunks == 1 and parts["motor"].count == 1


def test_filters_and_what_nothing_holds(index):
    assert [hit.source for hit in index.search("the filter motor", filter={"source": "filter"})] == ["filter"]
    assert index.search("submarine") == [] and index.search("") == []


def test_replaced_and_removed_texts_are_gone_and_new_ones_there(index):
    index.add_texts([("motor", "The motor is blue.")])
    index.remove("filter")
    assert [hit.text for hit in index.search("motor KX-41")] == ["The motor is blue."]
    assert index.search("alcohol") == []
    index.add_texts([("hose", "A hose of rubber.")])
    assert index.search("rubber")[0].source == "hose"


def test_it_is_there_when_opened_again_and_in_a_copy(index, tmp_path):
    path = index.path
    again = pickle.loads(pickle.dumps(index))
    assert again.search("kx-41")[0].source == "motor"
    again.close()
    with DocumentIndex(path, store=store(tmp_path)) as opened:
        assert opened.search("alcohol")[0].source == "filter"


def test_a_copy_of_the_catalog_lets_another_machine_search(index, tmp_path):
    (tmp_path / "copy").mkdir()
    shutil.copy(index.path / "catalog.sqlite", tmp_path / "copy")
    with DocumentIndex(tmp_path / "copy", store=store(tmp_path)) as copy:
        assert copy._store.collection == index._store.collection
        index.add_texts([("later", "Alcohol is flammable.")])  # the copy does not know it and leaves it out
        assert [hit.source for hit in copy.search("alcohol")] == ["filter"]


def test_the_same_documents_can_move_from_tantivy_to_milvus(tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        index.add_texts(TEXTS)
    with DocumentIndex(tmp_path / "index", store=store(tmp_path)) as index:
        assert index.search("alcohol")[0].source == "filter"
        assert index.clean() >= 0 and index.search("alcohol")[0].source == "filter"


def test_two_indexes_on_one_server_do_not_mix_and_one_in_memory_leaves_nothing_there(index, tmp_path):
    with DocumentIndex(store=store(tmp_path)) as other:
        other.add_texts([("other", "The motor of another house.")])
        assert [hit.source for hit in other.search("motor")] == ["other"]
        assert [hit.source for hit in index.search("motor")] == ["motor"]
        names = {other._store.collection, index._store.collection}
        assert names <= set(index._store.server.client.list_collections())
    assert set(index._store.server.client.list_collections()) & names == {index._store.collection}


def test_without_an_address_milvus_lite_lies_in_the_folder(tmp_path):
    with DocumentIndex(tmp_path / "index", store="milvus") as index:
        index.add_texts(TEXTS)
        assert index.search("alcohol")[0].source == "filter"
    assert (tmp_path / "index" / "milvus.db").exists()
    with pytest.raises(ValueError, match="needs the server"):
        DocumentIndex(store="milvus")


def test_vectors_are_compared_there_and_join_with_the_terms(tmp_path):
    path = tmp_path / "index"
    with DocumentIndex(path, meaning, store=store(tmp_path)) as index:
        index.add_texts(TEXTS)
        hit = index.search("engine warranty")[0]
        assert hit.source == "motor" and hit.searcher == "hybrid" and hit.why["ranks"] == {"vector": 1}
        assert type(index.vectors()).__name__ == "MilvusVectors" and len(index.vectors()) == 4
        assert {hit.source for hit in index.search("wash", filter={"source": ["motor", "code"]})} == {"motor", "code"}
        index.remove("motor")
        index.add_texts([("new", "Wash the motor.")])
        found = index.vectors().search(meaning(["engine"])[0], 10)
        assert len(found) == 4 and index.search("engine")[0].source == "new"
    with DocumentIndex(
        path, lambda texts: [[*row[::-1], 0.5] for row in meaning(texts)], store=store(tmp_path)
    ) as index:
        index.add_texts([("more", "Another package.")])
        assert index.search("library package")[0].source in ("code", "more") and len(index.vectors()) == 5


def test_a_server_that_is_away_is_named_without_its_token(tmp_path):
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9") as caught:
        DocumentIndex(tmp_path / "index", store={"name": "milvus", "uri": "http://127.0.0.1:9", "token": "secret"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["milvu", {"name": "chroma"}, {"uri": "x"}, {"name": "milvus", "url": "x"}, 3])
def test_a_store_that_there_is_not_is_refused(wrong):
    with pytest.raises(ValueError, match="store"):
        DocumentIndex(store=wrong)


def test_terms_become_words_that_no_analyzer_cuts():
    assert as_word("motor") == "motor" and as_word("保修") == "保修"
    words = [as_word(term) for term in ("kx-41", "v2.3.1", "read_all", "0x6b", "É", "c++")]
    assert all(word.isalnum() and word == word.lower() for word in words) and len(set(words)) == 6
