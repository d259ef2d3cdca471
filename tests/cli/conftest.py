"""The command line as a real process, and a chat server on loopback that speaks the OpenAI protocol."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = ROOT / "resources"
SECONDS = 60


@dataclass
class CommandLine:
    """Starts `qwen-agentkit` in a folder of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QWEN_", "OPENAI_", "DASHSCOPE_")) and not name.lower().endswith("_proxy")
        }
        return subprocess.Popen(
            [sys.executable, "-m", "qwen_agentkit.cli", *arguments],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, *arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        try:
            out, err = process.communicate(typed, timeout=SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture
def cli(tmp_path) -> CommandLine:
    (tmp_path / "resources").symlink_to(RESOURCES)
    return CommandLine(tmp_path)


@dataclass
class ChatServer:
    """Answers each chat request with the next text of `replies`, word by word.

    Args:
        url: Address for `--model-server`.
        replies: Texts to say; an int is an HTTP status to fail with.
        requests: Bodies of the requests so far.
        reached: Set when a request has been answered up to the word "<wait>", where the server pauses.
        release: Ends the pause.
    """

    url: str
    replies: list[str | int] = field(default_factory=list)
    requests: list[dict] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    def wait_for_pause(self, process: subprocess.Popen[str]) -> None:
        """Returns when a reply has come to its "<wait>"; fails when the process has ended before."""
        for _ in range(SECONDS * 10):
            if self.reached.wait(0.1):
                return
            if process.poll() is not None:
                pytest.fail(f"ended with {process.returncode}: {process.communicate()}")
        process.kill()
        pytest.fail(f"the server was not asked: {process.communicate()}")


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            reply = server.replies.pop(0)
            if isinstance(reply, int):
                self.answer_whole(reply, {"error": {"message": f"failed with {reply}", "type": "test"}})
            elif body.get("stream"):
                self.answer_in_pieces(reply)
            else:
                message = {"role": "assistant", "content": reply}
                self.answer_whole(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        def answer_whole(self, status: int, value: dict) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer_in_pieces(self, reply: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            words = reply.split(" ")
            for number, word in enumerate(words):
                if word == "<wait>":
                    server.reached.set()
                    server.release.wait(SECONDS)
                    continue
                self.send({"content": word if number == 0 else f" {word}"}, None)
            self.send({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")

        def send(self, delta: dict, finish: str | None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
            try:
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
            except OSError:
                pass  # the client has left, as it should after Ctrl-C

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = ChatServer(f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.release.set()
    http.shutdown()
    http.server_close()
    thread.join()
