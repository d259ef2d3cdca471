"""Many streams at once from one server process: qwen_agentkit's server, and a bare Starlette echo beside it.

    python tests/benchmarks/server_load.py [--streams 500] [--chunks 40] [--pace 0.1] [--ramp 2]

Each stream gets the same chunks at the same pace. The agent waits in its thread, as one that reads a model does; the
echo waits on the event loop and is the floor. Server and clients are processes of their own. "added" is the time
from the request to the first text, less the pace.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ECHO = """
import asyncio, json, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

chunks, pace = int(sys.argv[2]), float(sys.argv[3])

async def complete(request):
    await request.json()
    async def pieces():
        for n in range(chunks):
            await asyncio.sleep(pace)
            data = {"choices": [{"index": 0, "delta": {"content": f"word{n} "}, "finish_reason": None}]}
            yield f"data: {json.dumps(data)}\\n\\n"
        yield "data: [DONE]\\n\\n"
    return StreamingResponse(pieces(), media_type="text/event-stream")

app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
"""

AGENT = """
import sys, tempfile, time
from qwen_agentkit.agent import Agent
from qwen_agentkit.schema import Message
from qwen_agentkit.server import ServerOptions, serve

chunks, pace = int(sys.argv[2]), float(sys.argv[3])

class Paced(Agent):
    def _run(self, messages, lang="en", **kwargs):
        text = ""
        for n in range(chunks):
            time.sleep(pace)
            text += f"word{n} "
            yield [Message("assistant", text)]

with tempfile.TemporaryDirectory() as folder:
    options = ServerOptions(store=f"sqlite:///{folder}/s.sqlite", max_running=2000, upload_folder=folder)
    serve(Paced(name="paced"), "127.0.0.1", int(sys.argv[1]), options)
"""


async def one_stream(port, delay, expected):
    """Reads one stream over a bare socket: seconds to the first text, seconds in all, and whether it was whole."""
    await asyncio.sleep(delay)
    body = json.dumps({"model": "paced", "stream": True, "messages": [{"role": "user", "content": "Go"}]}).encode()
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    first, seen, tail = None, 0, b""
    while piece := await reader.read(65536):
        if first is None and b'"content": "word0' in tail + piece:
            first = time.perf_counter() - began
        joined = tail + piece
        seen += joined.count(b"word") - tail.count(b"word")
        tail = joined[-64:]
    writer.close()
    return first, time.perf_counter() - began, b"[DONE]" in tail and seen == expected


async def all_streams(port, streams, chunks, ramp):
    return await asyncio.gather(
        *(one_stream(port, ramp * n / streams, chunks) for n in range(streams)), return_exceptions=True
    )


def memory_of(process):
    """Resident memory of a process now and at its highest, in MB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    held = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return int(held["VmRSS"]) / 1024, int(held["VmHWM"]) / 1024


def cpu_of(process):
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(code, streams, chunks, pace, ramp):
    """Starts a server and loads it; a dict of what was seen."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code, str(port), str(chunks), str(pace)], env=environment)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError("the server did not start") from None
                time.sleep(0.1)
        asyncio.run(all_streams(port, 2, chunks, 0))  # warm
        before, cpu = memory_of(process)[0], cpu_of(process)
        results = asyncio.run(all_streams(port, streams, chunks, ramp))
        highest, cpu = memory_of(process)[1], cpu_of(process) - cpu
    finally:
        process.terminate()
        process.wait(30)
    whole = [one for one in results if not isinstance(one, BaseException) and one[2] and one[0] is not None]
    added = sorted(first - pace for first, _, _ in whole)
    return {
        "streams": streams,
        "errors": streams - len(whole),
        "added_p50_ms": 1000 * _part(added, 0.5),
        "added_p95_ms": 1000 * _part(added, 0.95),
        "added_max_ms": 1000 * _part(added, 1.0),
        "seconds": max((total for _, total, _ in whole), default=0.0),
        "memory_mb": highest,
        "memory_per_stream_kb": 1024 * (highest - before) / streams,
        "cpu_s": cpu,
    }


def _part(values, part):
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--chunks", type=int, default=40, help="chunks of each stream")
    parser.add_argument("--pace", type=float, default=0.1, help="seconds before each chunk")
    parser.add_argument("--ramp", type=float, default=2.0, help="seconds over which the streams begin")
    asked = parser.parse_args()
    shape = (asked.streams, asked.chunks, asked.pace, asked.ramp)
    rows = {"bare Starlette echo": measure(ECHO, *shape), "qwen_agentkit": measure(AGENT, *shape)}
    names = list(next(iter(rows.values())))
    print(f"{'':22}" + "".join(f"{name:>22}" for name in names))
    for title, row in rows.items():
        print(f"{title:22}" + "".join(f"{row[name]:>22.1f}" for name in names))


if __name__ == "__main__":
    main()
