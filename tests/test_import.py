"""What importing the package costs and touches, seen from fresh interpreters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Seconds that the import may take at most; the best of a few tries counts.
LIMIT = 0.3
TRIES = 5

HEAVY = [
    "openai",
    "dashscope",
    "numpy",
    "jieba",
    "gradio",
    "pydantic",
    "lxml",
    "tantivy",
    "pdfminer",
    "pypdfium2",
    "pptx",
    "python_calamine",
    "tiktoken",
    "typer",
    "rich",
    "httpx",
    "requests",
    "aiohttp",
]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )


def seconds_to_import(statement: str) -> float:
    """Processor time of the import alone: wall time would measure what else the machine is doing."""
    code = f"import time\nbefore = time.process_time()\n{statement}\nprint(time.process_time() - before)"
    return float(run_python(code).stdout)


@pytest.mark.parametrize("statement", ["import qwen_agentkit.agents", "from qwen_agentkit.agents import Assistant"])
def test_the_base_import_is_fast(statement):
    assert 0 < min(seconds_to_import(statement) for _ in range(TRIES)) < LIMIT


@pytest.mark.parametrize("statement", ["import qwen_agentkit.agents", "from qwen_agentkit.agents import Assistant"])
def test_the_base_import_loads_no_heavy_package(statement):
    loaded = run_python(f"import sys\n{statement}\nprint(*sys.modules)").stdout.split()
    assert not set(HEAVY) & set(loaded)


def test_importing_has_no_side_effects():
    code = """
import asyncio, logging, os, signal, socket, sys, threading, warnings

def world():
    loggers = [logging.getLogger()] + [
        logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)
    ]
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "files": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
        "handlers": [
            (logger.name, handler)
            for logger in loggers
            for handler in logger.handlers
            if not isinstance(handler, logging.NullHandler)
        ],
        "root level": logging.getLogger().level,
        "socket": (socket.socket, socket.create_connection, socket.getaddrinfo, socket.getdefaulttimeout()),
        "event loops": asyncio.get_event_loop_policy.__module__ and asyncio.events._event_loop_policy,
        "running loop": asyncio._get_running_loop(),
        "threads": threading.active_count(),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.unraisablehook),
        "recursion": sys.getrecursionlimit(),
        "warnings": list(warnings.filters),
    }

before = world()
import qwen_agentkit, qwen_agentkit.agents, qwen_agentkit.llm, qwen_agentkit.tools, qwen_agentkit.rag
from qwen_agentkit import Agent
from qwen_agentkit.agents import Assistant, GroupChat, ReActChat
from qwen_agentkit.llm import get_chat_model
from qwen_agentkit.memory import Memory
from qwen_agentkit.tools import BaseTool
after = world()
for name in before:
    assert before[name] == after[name], (name, before[name], after[name])
"""
    run_python(code)


def test_nothing_needs_the_modules_that_only_unix_has(tmp_path):
    (tmp_path / "note.txt").write_text("The boiler is serviced every 14 months by Mr Oduya.", encoding="utf-8")
    code = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("resource", "fcntl", "pwd", "grp", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())

from qwen_agentkit.agents import Assistant

bot = Assistant(llm={"model_type": "extractive"}, files=["note.txt"])
print(bot.run_nonstream([{"role": "user", "content": "How often is the boiler serviced?"}])[-1]["content"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "every 14 months" in done.stdout, done.stderr
