"""CPU of a long group chat: ten agents, 200 rounds in one run, round robin.

    python tests/benchmarks/teams.py [--rounds 200] [--agents 10]

The model is a server on loopback that answers each request with one sentence. CPU is that of the client's process,
the request of the HTTP client included; it is printed for the first and the last tenth of the rounds, beside the
growth of the history between them. Qwen-Agent is run in the interpreter that QWEN_AGENTKIT_PEER_PYTHON names, and left
out without one.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"
SENTENCE = "I have thought about what was said, and I would add one more point to it before we go on."

CLIENT = """
import importlib, json, sys, time
PACKAGE, url, rounds, members = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
agents = importlib.import_module(PACKAGE + ".agents")
cfg = {"model": "one-sentence", "model_server": url, "api_key": "EMPTY", "model_type": "oai",
       "generate_cfg": {"max_input_tokens": 10**9}}
team = [agents.Assistant(llm=cfg, name=f"agent{number}", description="talks") for number in range(members)]
chat = agents.GroupChat(agents=team, agent_selection_method="round_robin", llm=cfg)
task = [{"role": "user", "content": "Talk.", "name": "boss"}]
for _ in chat.run(task, max_round=2):
    pass
marks, seen, started = [time.process_time()], 0, time.perf_counter()
for response in chat.run(task, max_round=rounds):
    if len(response) > seen:
        # A new message: the turn before it has ended.
        seen = len(response)
        marks.append(time.process_time())
marks.append(time.process_time())
assert seen == rounds, seen
tenth = max(1, rounds // 10)
turns = [later - earlier for earlier, later in zip(marks[1:], marks[2:])]
print("RESULT" + json.dumps({
    "ms CPU a turn, first tenth": 1000 * sum(turns[:tenth]) / tenth,
    "ms CPU a turn, last tenth": 1000 * sum(turns[-tenth:]) / tenth,
    "s CPU in all": marks[-1] - marks[0],
    "s in all": time.perf_counter() - started,
}))
"""


class Model(BaseHTTPRequestHandler):
    """Answers with one sentence."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        deltas = [({"role": "assistant", "content": SENTENCE}, None), ({}, "stop")]
        lines = [
            json.dumps(
                {
                    "id": "c",
                    "object": "chat.completion.chunk",
                    "created": 0,
                    "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
                }
            )
            for delta, reason in deltas
        ]
        body = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Keeps the output to the table."""


def measure(python: str, package: str, url: str, rounds: int, agents: int) -> dict[str, float]:
    """Runs the client in that interpreter and returns what it measured."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if package == "qwen_agentkit" else ""}
    command = [python, "-c", CLIENT, package, url, str(rounds), str(agents)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        raise RuntimeError(f"{package} gave no result:\n{done.stderr[-2000:]}")
    return json.loads(lines[-1].removeprefix("RESULT"))


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU of a long group chat.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--agents", type=int, default=10)
    flags = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    table = {"qwen_agentkit": measure(sys.executable, "qwen_agentkit", url, flags.rounds, flags.agents)}
    peer = os.environ.get(PEER)
    if peer:
        table["Qwen-Agent"] = measure(peer, "qwen_agent", url, flags.rounds, flags.agents)
    else:
        print(f"Qwen-Agent is left out: {PEER} names no interpreter\n")
    server.shutdown()
    print(f"{flags.agents} agents, {flags.rounds} rounds; the history grows from 1 to {flags.rounds} messages")
    print(f"{'':28}" + "".join(f"{name:>16}" for name in table))
    for row in table["qwen_agentkit"]:
        print(f"{row:28}" + "".join(f"{figures[row]:16.2f}" for figures in table.values()))


if __name__ == "__main__":
    main()
