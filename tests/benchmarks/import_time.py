"""Prints what importing the agents costs, beside Qwen-Agent.

    python tests/benchmarks/import_time.py

The peer is looked for in the Python that QWEN_AGENTKIT_PEER_PYTHON names; without it its line says so.
Each figure is the median of several fresh interpreters, less the median of one that imports nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = 9
PEER = "QWEN_AGENTKIT_PEER_PYTHON"

_REPORT = """
{statement}
import sys
modules = len(sys.modules)
peak = "nan"
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
except OSError:
    pass  # no /proc here
print(peak, modules)
"""


def measure(python: str, statement: str) -> tuple[float, float, int]:
    """Median seconds and peak megabytes of a fresh interpreter that runs the statement, and its count of modules."""
    seconds, peaks, modules = [], [], 0
    for _ in range(RUNS):
        begun = time.perf_counter()
        done = subprocess.run(
            [python, "-c", _REPORT.format(statement=statement)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds.append(time.perf_counter() - begun)
        peak, count = done.stdout.split()[-2:]
        peaks.append(float(peak))
        modules = int(count)
    return statistics.median(seconds), statistics.median(peaks), modules


def row(label: str, python: str, statement: str) -> None:
    idle_seconds, idle_peak, idle_modules = measure(python, "pass")
    seconds, peak, modules = measure(python, statement)
    print(
        f"{label:<44}{(seconds - idle_seconds) * 1000:>9.0f} ms{peak - idle_peak:>9.1f} MB{modules - idle_modules:>9}"
    )


def main() -> None:
    print(f"{'':<44}{'time':>12}{'memory':>12}{'modules':>9}")
    row("import qwen_agentkit.agents", sys.executable, "import qwen_agentkit.agents")
    row("  ... and Assistant", sys.executable, "from qwen_agentkit.agents import Assistant")
    peer = os.environ.get(PEER)
    if peer:
        row("import qwen_agent.agents (Qwen-Agent)", peer, "import qwen_agent.agents")
    else:
        print(f"Qwen-Agent is absent: {PEER} names no Python that has it.")


if __name__ == "__main__":
    main()
