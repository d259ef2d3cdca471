import json
import math

import pytest

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools import FrontPageSearch, HybridSearch, KeywordSearch, VectorSearch
from qwen_agentkit.tools.records import Chunk, Record
from qwen_agentkit.utils.tokenization_qwen import count_tokens

TOPICS = {
    "motor": "The motor is guaranteed for 27 months from the date of purchase.",
    "blade": "Sharpen the blade with a wet stone every second week.",
    "battery": "The battery must be charged for six hours before the first use.",
    "colour": "The housing is available in red, blue and green.",
    "电池": "电池首次使用前必须充电六小时。",
    "保修": "电机自购买之日起保修二十七个月。",
}


def record(url="manual.pdf", texts=None, filler=40):
    raw = []
    for number, text in enumerate(texts or TOPICS.values()):
        content = text + " filler" * filler
        place = {
            "source": url,
            "title": "Manual",
            "chunk_id": number,
            "page": number + 1,
            "start": 0,
            "end": len(content),
        }
        raw.append(Chunk(content, place))
    return Record(url, raw, "Manual")


def found_texts(result):
    return [text for document in result for text in document["text"]]


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("How long is the motor guaranteed?", "motor"),
        ("sharpening blades", "blade"),
        ("电池充电多久", "电池"),
        ("保修", "保修"),
        (json.dumps({"keywords_zh": ["颜色"], "keywords_en": ["colour", "red"], "text": "which colours"}), "colour"),
    ],
)
def test_keywords_find_the_passage(query, topic):
    result = KeywordSearch({"max_ref_token": 60}).call({"query": query}, docs=[record()])
    assert found_texts(result)[0].startswith(TOPICS[topic])
    assert result[0]["url"] == "manual.pdf"
    assert len(result[0]["text"]) == len(result[0]["passages"])


def test_everything_is_given_when_it_fits():
    result = KeywordSearch().call({"query": "motor"}, docs=[record(filler=0)])
    assert found_texts(result) == list(TOPICS.values())
    assert result[0]["passages"][2]["page"] == 3
    json.dumps(result)


def test_two_chunks_rank_too():
    docs = [record(texts=list(TOPICS.values())[:2])]
    for topic in ("motor", "blade"):
        result = KeywordSearch({"max_ref_token": 60}).call({"query": topic}, docs=docs)
        assert found_texts(result)[0].startswith(TOPICS[topic])


def test_the_budget_holds_and_passages_come_in_reading_order():
    result = KeywordSearch().call({"query": "battery motor charged"}, docs=[record()], max_ref_token=100)
    texts = found_texts(result)
    assert texts[0].startswith(TOPICS["motor"])
    assert texts[1].startswith(TOPICS["battery"])
    assert sum(count_tokens(text) for text in texts) <= 100
    # The better one is whole; the other was cut to fit, and says so.
    cut = result[0]["passages"][0]
    assert texts[1] == record().raw[2].content
    assert cut["end"] - cut["start"] == len(texts[0]) < len(record().raw[0].content)


def test_a_query_that_says_or_matches_nothing_gives_the_front_parts():
    docs = [record("a.pdf"), record("b.pdf")]
    for query in ("", "   ", "zebra xylophone"):
        result = KeywordSearch().call({"query": query}, docs=docs, max_ref_token=120)
        assert [document["url"] for document in result] == ["a.pdf", "b.pdf"]
        assert all(document["text"][0].startswith(TOPICS["motor"]) for document in result)
        assert sum(count_tokens(text) for text in found_texts(result)) <= 120
    assert KeywordSearch().call({"query": "x"}, docs=[]) == []
    assert KeywordSearch().call({"query": "x"}) == []


def test_texts_and_lists_of_pages_are_documents_too():
    pages = [text + " filler" * 300 for text in TOPICS.values()]
    for docs in (["\n\n".join(pages)], [pages], pages):
        result = KeywordSearch({"max_ref_token": 100}).call({"query": "battery hours"}, docs=docs)
        assert any(TOPICS["battery"] in text for text in found_texts(result))
        assert all(document["url"].startswith("doc_") for document in result)
    with pytest.raises(ValueError, match=r"docs\[0\]"):
        KeywordSearch().call({"query": "x"}, docs=[3])


def test_a_record_may_come_as_its_dict():
    result = KeywordSearch({"max_ref_token": 60}).call({"query": "blade"}, docs=[record().to_dict()])
    assert found_texts(result)[0].startswith(TOPICS["blade"])


def test_the_front_pages_come_first_when_they_leave_room():
    result = FrontPageSearch().call({"query": "battery"}, docs=[record()], max_ref_token=500)
    assert len(found_texts(result)) == 6 or result[0]["passages"][0]["page"] == 1
    scored = FrontPageSearch().sort_by_scores("battery", [record()], max_ref_token=10_000)
    assert scored == [("manual.pdf", 0, math.inf), ("manual.pdf", 1, math.inf)]
    assert FrontPageSearch().sort_by_scores("battery", [record()], max_ref_token=100) == []
    several = FrontPageSearch().sort_by_scores("q", [record("a"), record("b")], max_ref_token=1_000)
    assert {url for url, _, _ in several} == {"a", "b"}


def test_hybrid_puts_front_pages_and_the_best_passages_together():
    docs = [record(filler=60)]
    result = HybridSearch({"max_ref_token": 300}).call({"query": "电池充电"}, docs=docs)
    texts = found_texts(result)
    assert texts[0].startswith(TOPICS["motor"])
    assert any(text.startswith(TOPICS["电池"]) for text in texts)


def test_hybrid_wants_searchers_that_exist():
    for names in (["hybrid_search"], ["nothing"], []):
        with pytest.raises(ValueError, match="rag_searchers"):
            HybridSearch({"rag_searchers": names})


def fake_embedding(texts):
    return [[text.count("battery") + 0.01, text.count("motor") + 0.01, 1.0] for text in texts]


def test_vectors_rank_by_meaning_and_each_text_is_embedded_once():
    seen = []

    def embed(texts):
        seen.extend(texts)
        return fake_embedding(texts)

    search = VectorSearch({"embedder": embed, "max_ref_token": 50})
    for _ in range(2):
        result = search.call({"query": "battery battery"}, docs=[record()])
        assert found_texts(result)[0].startswith(TOPICS["battery"])
    assert len(seen) == len(set(seen)) == 7


def test_an_openai_compatible_server_embeds(site, monkeypatch):
    def answer(handler):
        body = json.loads(site.requests[-1][3])
        data = [{"index": n, "embedding": v} for n, v in enumerate(fake_embedding(body["input"]))]
        content = json.dumps({"data": data[::-1]}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    site.routes["/v1/embeddings"] = answer
    monkeypatch.setenv("QWEN_AGENTKIT_EMBEDDING_SERVER", f"{site.url}/v1")
    monkeypatch.setenv("QWEN_AGENTKIT_EMBEDDING_API_KEY", "secret")
    result = VectorSearch({"max_ref_token": 50, "embedding_model": "m"}).call({"query": "motor"}, docs=[record()])
    assert found_texts(result)[0].startswith(TOPICS["motor"])
    assert site.requests[0][2]["Authorization"] == "Bearer secret"
    assert json.loads(site.requests[0][3])["model"] == "m"


def test_without_an_embedding_model_the_call_says_what_to_do(monkeypatch):
    for name in ("QWEN_AGENTKIT_EMBEDDING_SERVER", "QWEN_AGENT_EMBEDDING_SERVER", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolServiceError, match="QWEN_AGENTKIT_EMBEDDING_SERVER"):
        VectorSearch({"max_ref_token": 10}).call({"query": "motor"}, docs=[record()])
    with pytest.raises(ValueError, match="embedder"):
        VectorSearch({"embedder": 3})


def test_keyword_search_needs_no_tantivy():
    import subprocess
    import sys

    program = (
        "import sys; sys.modules['tantivy'] = None\n"
        "from qwen_agentkit.tools import KeywordSearch\n"
        "print(KeywordSearch({'max_ref_token': 5}).call({'query': 'b'}, docs=['a a a a a a', 'b b b b b b']))"
    )
    assert "b b b" in subprocess.check_output([sys.executable, "-c", program], text=True)


def test_search_takes_the_tools_own_budget_where_none_is_given():
    tool = KeywordSearch({"max_ref_token": 60})
    query = "motor and battery"
    assert tool.search(query, [record()]) == tool.search(query, [record()], 60) != tool.search(query, [record()], 400)
