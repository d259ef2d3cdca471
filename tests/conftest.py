"""What several folders of tests use: a web server on loopback whose answers a test writes."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import hypothesis
import pytest

from qwen_agentkit import settings
from tests.servers.dashscope_server import DashScopeServer
from tests.servers.oai_server import OAIServer

# The same examples each time; machines that run this are shared, so no example has a deadline.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


class Site:
    """Routes by path; every request is kept in `requests` as (method, path, headers, body)."""

    def __init__(self):
        self.routes = {}
        self.requests = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                site.requests.append((self.command, self.path, dict(self.headers), body))
                route = site.routes.get(self.path) or site.routes.get(self.path.partition("?")[0])
                if route is None:
                    self.send_error(404)
                elif callable(route):
                    route(self)
                else:
                    status, headers, content = route
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(content)

            do_GET = do_POST = do_HEAD = answer

            def log_message(self, *args):
                """Quiet."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                """Quiet: a client that leaves early is what some tests are about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(autouse=True)
def workspace(monkeypatch, tmp_path_factory):
    """Each test has a workspace of its own."""
    folder = tmp_path_factory.mktemp("workspace")
    monkeypatch.setenv("QWEN_AGENTKIT_DEFAULT_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def oai_server():
    server = OAIServer()
    yield server
    server.close()


@pytest.fixture
def dashscope_server():
    server = DashScopeServer()
    yield server
    server.close()


@pytest.fixture
def site():
    held = Site()
    yield held
    held.close()


@pytest.fixture
def loopback_allowed(monkeypatch):
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
