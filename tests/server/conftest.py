"""A real server on loopback: uvicorn in a thread, with agents that a test gives."""

import contextlib
import json
import socket
import threading
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("sqlalchemy")
pytest.importorskip("prometheus_client")
pytest.importorskip("python_multipart")

import httpx
import uvicorn

from qwen_agentkit.server import ServerOptions, create_app
from qwen_agentkit.server.serving import Server


class Served:
    """A server under test: its address, its application, and a client."""

    def __init__(self, agents, options):
        self.app = create_app(agents, options)
        self.service = self.app.state.service
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self.app, log_level="error", access_log=False, timeout_graceful_shutdown=20)
        self.server = Server(config, self.service)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()
        wait_until(lambda: self.server.started)
        self.client = httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    def stop(self):
        self.server.should_exit = True

    def close(self):
        self.client.close()
        self.service.board.close()
        self.server.should_exit = True
        self.thread.join(20)
        self.socket.close()

    @contextlib.contextmanager
    def stream(self, method, path, **kwargs):
        """Opens a stream of events; gives the response and an iterator of (id, event, data)."""
        with self.client.stream(method, path, **kwargs) as response:
            yield response, events_of(response.iter_lines())


def events_of(lines):
    held = {}
    for line in lines:
        if line.startswith(":"):
            yield None, "comment", line
        elif not line:
            if held:
                yield int(held["id"]), held["event"], json.loads(held["data"])
            held = {}
        else:
            name, _, value = line.partition(": ")
            held[name] = value


def wait_until(claim, seconds=15.0):
    over = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > over:
            raise AssertionError("It did not come true in time")
        time.sleep(0.01)


@pytest.fixture
def serve(tmp_path):
    """`serve(agents, **options)` starts a server that ends with the test."""
    started = []

    def start(agents, **options):
        options.setdefault("store", f"sqlite:///{tmp_path}/sessions.sqlite")
        options.setdefault("upload_folder", str(tmp_path / "uploads"))
        served = Served(agents, ServerOptions(**options))
        started.append(served)
        return served

    yield start
    for served in started:
        served.close()
