"""What the two model servers share: a script of answers, the requests seen, faults on the wire."""

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """One answer of a server.

    text, reasoning, calls: what it says; calls are (name, arguments) or whole `tool_calls` pieces (dicts).
    pieces: the streamed deltas themselves, in place of text, reasoning and calls.
    status, error, headers: a refusal.
    raw: the body as it is, with `content_type`.
    drop_after: pieces after which the connection is cut. hang_after: pieces after which nothing more comes.
    drop: the connection is cut before any byte. delay: seconds before each piece.
    usage: counted tokens (input, output). chunk: characters of a piece. done: whether `[DONE]` is sent.
    one_block: all events in one write.
    """

    text: str = ""
    reasoning: str = ""
    calls: list = field(default_factory=list)
    pieces: list | None = None
    status: int = 200
    error: dict | None = None
    headers: dict = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "application/json"
    drop: bool = False
    drop_after: int | None = None
    hang_after: int | None = None
    hang: bool = False
    delay: float = 0.0
    usage: tuple = (11, 7)
    finish_reason: str | None = None
    chunk: int = 4
    done: bool = True
    one_block: bool = False
    fields: dict = field(default_factory=dict)


@dataclass
class Seen:
    """One request that came."""

    path: str
    headers: object
    body: dict
    connection: int
    at: float


class ModelServer:
    """Gives the answers of `script` in order, the last again and again; `seen` are the requests."""

    def __init__(self):
        self.script = []
        self.seen = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Each piece is to leave at once.
            disable_nagle_algorithm = True

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                with server.lock:
                    server.seen.append(Seen(self.path, self.headers, body, self.client_address[1], time.monotonic()))
                    answer = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                if callable(answer):
                    answer = answer(body)
                if isinstance(answer, str):
                    answer = Answer(answer)
                server.give(self, answer, body)

            def whole(self, status, content, content_type="application/json", headers=None):
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def whole_or_half(self, answer, content):
                """A whole answer; half of it and then silence, or an end, for one that is to hang or to be cut."""
                if not answer.hang_after and answer.drop_after is None:
                    self.whole(200, content)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2])
                if answer.drop_after is None:
                    server.released.wait(30)
                self.cut()

            def begin_stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()

            def piece(self, data):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

            def end_stream(self):
                self.wfile.write(b"0\r\n\r\n")

            def cut(self):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *args):
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """Quiet: clients that leave early are what some tests are about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def root(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def last(self):
        return self.seen[-1].body

    def give(self, handler, answer, body):
        if answer.drop:
            handler.cut()
            return
        if answer.hang:
            self.released.wait(30)
            handler.cut()
            return
        if answer.raw is not None:
            handler.whole(answer.status, answer.raw, answer.content_type, answer.headers)
            return
        if answer.error is not None or answer.status != 200:
            content = json.dumps(answer.error or {"error": {"message": "refused"}}).encode()
            handler.whole(answer.status, content, headers=answer.headers)
            return
        self.speak(handler, answer, body)

    def stream(self, handler, answer, events):
        handler.begin_stream()
        if answer.one_block:
            handler.piece(b"".join(events))
            handler.end_stream()
            return
        for number, event in enumerate(events):
            if answer.drop_after is not None and number >= answer.drop_after:
                handler.cut()
                return
            if answer.hang_after is not None and number >= answer.hang_after:
                self.released.wait(30)
                handler.cut()
                return
            if answer.delay:
                time.sleep(answer.delay)
            handler.piece(event)
        if answer.drop_after is not None:
            handler.cut()  # behind the last event
            return
        handler.end_stream()

    def speak(self, handler, answer, body):
        raise NotImplementedError

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


def cut_up(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]
