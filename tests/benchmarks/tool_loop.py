"""CPU and time of tool rounds: one call a round, eight calls at once, and many runs in one process.

    python tests/benchmarks/tool_loop.py [--rounds 15] [--runs 200]

The model is a server on loopback that asks for the first tool it is offered. CPU is that of the client's process.
Qwen-Agent is run in the interpreter that QWEN_AGENTKIT_PEER_PYTHON names, and left out without one.
"""

import argparse
import json
import os
import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"

CLIENT = """
import json, os, sys, threading, time
PACKAGE, url, rounds, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
import importlib
agents = importlib.import_module(PACKAGE + ".agents")
base = importlib.import_module(PACKAGE + ".tools.base")

@base.register_tool("probe")
class Probe(base.BaseTool):
    description = "probe"
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wait = 0.0
    def call(self, params, **kwargs):
        time.sleep(self.wait)
        return "ok"

def bot(model):
    cfg = {"model": model, "model_server": url, "api_key": "EMPTY", "model_type": "oai",
           "generate_cfg": {"use_raw_api": True, "max_input_tokens": 10**9}}
    return agents.FnCallAgent(llm=cfg, function_list=["probe"])

def run(agent):
    last = []
    for last in agent.run(messages=[{"role": "user", "content": "go"}]):
        pass
    return len(last)

warm = bot("rounds-2")
run(warm)
agent = bot(f"rounds-{rounds}")
cpu = time.process_time()
assert run(agent) == 2 * rounds + 1
result = {"ms CPU a round": 1000 * (time.process_time() - cpu) / (rounds + 1)}
Probe.wait = 0.3
agent = bot("parallel-8")
started = time.perf_counter()
assert run(agent) == 17
result["s for 8 calls of 0.3 s"] = time.perf_counter() - started
if PACKAGE == "qwen_agentkit":
    def rss():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    agent, before, cpu, started = bot("parallel-2"), rss(), time.process_time(), time.perf_counter()
    threads = [threading.Thread(target=run, args=(agent,)) for _ in range(runs)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    result[f"s for {runs} runs at once"] = time.perf_counter() - started
    result["s CPU of them"] = time.process_time() - cpu
    result["MB more"] = rss() - before
print("RESULT" + json.dumps(result))
"""


class Model(BaseHTTPRequestHandler):
    """Asks for tools as the model's name says: `rounds-K`, one a round; `parallel-P`, once P at a time."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind, _, number = request["model"].partition("-")
        done = sum(message["role"] == "tool" for message in request["messages"])
        count = int(kind == "rounds" and done < int(number)) or (int(number) if kind == "parallel" and not done else 0)
        deltas = [{"role": "assistant", "content": ""}]
        if count:
            for index in range(count):
                function = {"name": "probe", "arguments": json.dumps({"n": done + index})}
                deltas.append({"tool_calls": [{"index": index, "id": f"call_{done + index}", "function": function}]})
        else:
            deltas.append({"content": "done"})
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if count else "stop"})
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
        body = b"".join(b"data: %s\n\n" % json.dumps({**head, "choices": [choice]}).encode() for choice in choices)
        body += b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Quiet."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--runs", type=int, default=200)
    given = arguments.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.request_queue_size = 512
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    for package, python in (("qwen_agentkit", sys.executable), ("qwen_agent", os.environ.get(PEER))):
        if python is None:
            print(f"{package}: left out, {PEER} names no Python that has it")
            continue
        environment = {**os.environ, "PYTHONPATH": str(ROOT) if package == "qwen_agentkit" else ""}
        done = subprocess.run(
            [python, "-c", textwrap.dedent(CLIENT), package, url, str(given.rounds), str(given.runs)],
            env=environment,
            capture_output=True,
            text=True,
        )
        line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
        if line is None:
            print(f"{package}: failed\n{done.stderr[-2000:]}")
            continue
        figures = json.loads(line.removeprefix("RESULT"))
        print(f"{package}: " + ", ".join(f"{value:.2f} {name}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
