"""Many code runs and MCP calls with kernels and servers killed in between: nothing may stay behind.

`SOAK_RUNS=500 pytest -m slow tests/tools/test_soak.py` is the long form.
"""

import gc
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools import CodeInterpreter, MCPWorkbench
from qwen_agentkit.tools.code import sandbox
from qwen_agentkit.tools.code.pool import kernels

RUNS = int(os.environ.get("SOAK_RUNS", "50"))
SERVER = str(Path(__file__).parent / "mcp" / "server.py")

pytestmark = pytest.mark.slow


def children():
    found = set()
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(pid))
        except (OSError, IndexError):
            continue
    return found


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def settled(measure, most, seconds=15):
    """Whether a number comes down to what it may be; threads and sockets take a moment to go."""
    end = time.monotonic() + seconds
    while measure() > most and time.monotonic() < end:
        gc.collect()
        time.sleep(0.1)
    return measure() <= most


def code_run(tool, chance, n):
    held = next(iter(kernels._kernels.values()), None)
    if held is not None and held.is_alive and chance.random() < 0.2:
        os.killpg(held._process.pid, signal.SIGKILL)
    result = tool.call({"code": f"print({n} * 2)"})
    assert str(n * 2) in result or "ended its own Python process" in result


def test_code_runs_leave_nothing_behind(tmp_path):
    try:
        kind = sandbox.choose("auto")
    except ToolServiceError:
        kind = "none"
    tool = CodeInterpreter({"sandbox": kind, "work_dir": str(tmp_path)})
    chance = random.Random(7)
    code_run(tool, chance, 0)
    kernels.end()
    before = (children(), threading.active_count(), descriptors())
    for n in range(RUNS):
        code_run(tool, chance, n)
    kernels.end()
    assert settled(lambda: len(children() - before[0]), 0)
    assert settled(threading.active_count, before[1])
    assert settled(descriptors, before[2])


def test_mcp_calls_leave_nothing_behind(tmp_path):
    pytest.importorskip("mcp")
    server = {"command": sys.executable, "args": [SERVER, "stdio"], "env": {"MARKS": str(tmp_path / "marks")}}
    bench = MCPWorkbench({"mcpServers": {"t": server}})
    pid = int(bench.call_tool("t-pid", {}))
    bench.stop()
    before = (children(), threading.active_count(), descriptors())
    chance = random.Random(7)
    answered = 0
    for n in range(RUNS):
        if chance.random() < 0.1:
            os.kill(int(bench.call_tool("t-pid", {})), signal.SIGKILL)
        try:
            assert bench.call_tool("t-add", {"a": n, "b": n}) == str(2 * n)
            answered += 1
        except ToolServiceError as error:
            # The server was killed while the call was on its way.
            assert error.code == "lost"
    assert answered > RUNS * 0.7
    bench.stop()
    assert pid not in children()
    assert settled(lambda: len(children() - before[0]), 0)
    assert settled(threading.active_count, before[1] + 1)
    assert settled(descriptors, before[2])
