"""What passes before the model is asked: questions about one file of 300,000 words, the first and those after it.

    python tests/benchmarks/second_question.py [--words 300000] [--files 1] [--seconds 1200]

With several files each has so many words; 83,000 words are cut into about 1,000 chunks. The model is a server on
loopback that notes when it is asked. Qwen-Agent is run in the interpreter that QWEN_AGENTKIT_PEER_PYTHON names, and
left out without one; it is asked twice only, and stopped after so many seconds.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"

CLIENT = """
import importlib, json, sys, time
PACKAGE, url, paths, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
agents = importlib.import_module(PACKAGE + ".agents")
cfg = {"model": "m", "model_server": url, "api_key": "EMPTY", "model_type": "oai"}
bot = agents.Assistant(llm=cfg, files=paths, rag_cfg={"rag_keygen_strategy": "none"})
times = []
for number in range(questions):
    began = time.time()
    asked = [{"role": "user", "content": f"What is said of word{number * 7} and word{number * 13 + 5}?"}]
    for _ in bot.run(messages=asked):
        pass
    times.append(began)
print("RESULT" + json.dumps(times))
"""

_asked_at: list[float] = []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        _asked_at.append(time.time())
        self.rfile.read(int(self.headers["Content-Length"]))
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        deltas = [{"role": "assistant", "content": "ok"}, {}]
        choices = [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"} for delta in deltas]
        body = b"".join(b"data: %s\n\n" % json.dumps({**chunk, "choices": [choice]}).encode() for choice in choices)
        body += b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Quiet."""


def document(path: Path, words: int, seed: int = 7) -> None:
    chance = random.Random(seed)
    names = [f"word{number}" for number in range(20_000)]
    paragraphs = (" ".join(chance.choice(names) for _ in range(100)) + "." for _ in range(words // 100))
    path.write_text("\n\n".join(paragraphs))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--words", type=int, default=300_000)
    arguments.add_argument("--files", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=1200.0)
    given = arguments.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"long{number}.txt") for number in range(given.files)]
        for number, path in enumerate(paths, 7):
            document(path, given.words, number)
        for package, python, questions in (
            ("qwen_agentkit", sys.executable, 12),
            ("qwen_agent", os.environ.get(PEER), 2),
        ):
            if python is None:
                print(f"{package}: left out, {PEER} names no Python that has it")
                continue
            _asked_at.clear()
            asked_of = json.dumps([str(path) for path in paths])
            try:
                done = subprocess.run(
                    [python, "-c", textwrap.dedent(CLIENT), package, url, asked_of, str(questions)],
                    env={**os.environ, "PYTHONPATH": str(ROOT) if package == "qwen_agentkit" else ""},
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=given.seconds,
                )
            except subprocess.TimeoutExpired:
                print(
                    f"{package}: stopped after {given.seconds:.0f} s, {len(_asked_at)} of {questions} questions asked"
                )
                continue
            line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
            if line is None:
                print(f"{package}: failed\n{done.stderr[-2000:]}")
                continue
            began = json.loads(line.removeprefix("RESULT"))
            waits = [asked - at for at, asked in zip(began, _asked_at, strict=True)]
            later = sorted(waits[1:])
            print(
                f"{package}: {waits[0]:.2f} s before the model is asked the first question, "
                f"{later[len(later) // 2] * 1000:.1f} ms the later ones (median of {len(later)})"
            )


if __name__ == "__main__":
    main()
