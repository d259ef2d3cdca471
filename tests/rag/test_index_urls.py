"""Addresses in an index."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from qwen_agentkit.rag import DocumentIndex


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.headers.get("If-None-Match"))
        if self.server.body is None:
            self.send_error(503)
            return
        tag = f'"{hash(self.server.body)}"'
        if self.headers.get("If-None-Match") == tag:
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *args):
        pass


@pytest.fixture
def page(monkeypatch, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.requests, server.body = [], b"<html><body><p>The motor is guaranteed for 27 months.</p></body></html>"
    server.url = f"http://127.0.0.1:{server.server_port}/page.html"
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("QWEN_AGENTKIT_WEB_ALLOWED_HOSTS", "['127.0.0.1']")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_an_address_is_indexed_asked_again_and_updated(page, tmp_path):
    with DocumentIndex(tmp_path / "index") as index:
        assert index.add(page.url).added == [page.url]
        assert index.search("motor")[0].source == page.url
        assert index.add(page.url).unchanged == [page.url] and page.requests[-1]
        page.body = page.body.replace(b"27", b"36")
        assert index.add(page.url).updated == [page.url]
        assert "36" in index.search("motor")[0].text
        page.body = None  # the service is away: what was read stays
        assert index.add(page.url).unchanged == [page.url] and index.search("motor")
        assert index.remove(page.url) == [page.url]
    for path in tmp_path.rglob("*"):  # the copy that was fetched is gone, too
        assert not path.is_file() or b"guaranteed" not in path.read_bytes(), path


def test_an_address_that_may_not_be_fetched_is_a_problem(monkeypatch, page, tmp_path):
    monkeypatch.setenv("QWEN_AGENTKIT_WEB_ALLOWED_HOSTS", "[]")
    with DocumentIndex(tmp_path / "index") as index:
        report = index.add([page.url])
        assert report.added == [] and report.problems[0].source == page.url and page.requests == []
