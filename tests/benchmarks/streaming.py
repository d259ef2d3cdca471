"""CPU of reading one streamed answer: the raw OpenAI SDK, qwen_agentkit, and Qwen-Agent where it is installed.

    python tests/benchmarks/streaming.py [--chunks 8000] [--pace SECONDS]

The server is a process of its own, so that only the client's CPU is counted. Qwen-Agent is run in
the interpreter that QWEN_AGENTKIT_PEER_PYTHON names, and left out without one.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"

CLIENTS = {
    "raw OpenAI SDK": """
        import openai
        client = openai.OpenAI(api_key="EMPTY", base_url=url)
        def ask():
            text, yields = "", 0
            for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
                yields += 1
                if chunk.choices and chunk.choices[0].delta.content:
                    text += chunk.choices[0].delta.content
            return text, yields
    """,
    "qwen_agentkit": """
        from qwen_agentkit.llm import get_chat_model
        model = get_chat_model({"model": "m", "model_server": url})
        def ask():
            yields = 0
            for reply in model.chat(messages):
                yields += 1
            return reply[-1]["content"], yields
    """,
    "Qwen-Agent": """
        from qwen_agent.llm import get_chat_model
        model = get_chat_model({"model": "m", "model_server": url, "api_key": "EMPTY"})
        def ask():
            yields = 0
            for reply in model.chat(messages):
                yields += 1
            return reply[-1]["content"], yields
    """,
}

RUN = """
import json, sys, time
url = sys.argv[1]
messages = [{"role": "user", "content": "Tell me a long story."}]
CLIENT
ask()
best = None
for _ in range(3):
    cpu, wall = time.process_time(), time.perf_counter()
    text, yields = ask()
    spent = (time.process_time() - cpu, time.perf_counter() - wall, len(text), yields)
    best = spent if best is None else min(best, spent)
print(json.dumps(best))
"""


def serve(chunks, pace):
    """Answers every request with a stream of that many chunks; its port is printed."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def event(delta, reason=None):
        data = json.dumps({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()
        data = b"data: " + data + b"\n\n"
        return b"%x\r\n%s\r\n" % (len(data), data)

    events = [event({"content": f"word{number} "}) for number in range(chunks)]
    end = event({}, "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def answer(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = connection.makefile("rb")
        while True:
            size = 0
            line = reader.readline()
            if not line:
                return
            while line.strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
                line = reader.readline()
            reader.read(size)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for one in events:
                connection.sendall(one)
                if pace:
                    time.sleep(pace)
            connection.sendall(end)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--chunks", type=int, default=8000)
    arguments.add_argument("--pace", type=float, default=0.0, help="seconds between two chunks")
    arguments.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.chunks, given.pace)
        return
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--chunks", str(given.chunks), "--pace", str(given.pace)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        print(f"{given.chunks} chunks, best of 3")
        print(f"{'client':<16}{'CPU s':>10}{'wall s':>10}{'yields':>10}{'of raw':>10}")
        raw = None
        for name, code in CLIENTS.items():
            python = os.environ.get(PEER) if name == "Qwen-Agent" else sys.executable
            if python is None:
                print(f"{name:<16}  left out: {PEER} names no Python that has it")
                continue
            environment = {**os.environ, "PYTHONPATH": "" if name == "Qwen-Agent" else str(ROOT)}
            done = subprocess.run(
                [python, "-c", RUN.replace("CLIENT", textwrap.dedent(code)), url],
                capture_output=True,
                text=True,
                env=environment,
            )
            if done.returncode:
                print(f"{name:<16}  failed: {done.stderr.strip().splitlines()[-1:]}")
                continue
            cpu, wall, _, yields = json.loads(done.stdout.strip().splitlines()[-1])
            raw = raw or cpu
            print(f"{name:<16}{cpu:>10.3f}{wall:>10.3f}{yields:>10}{cpu / raw:>10.2f}")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
