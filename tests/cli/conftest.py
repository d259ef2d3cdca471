"""The command line as a real process, and a chat server on loopback that speaks the OpenAI protocol."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.oai_server import OAIServer

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = ROOT / "resources"
SECONDS = 60


@dataclass
class CommandLine:
    """Starts `qwen-agentkit` in a folder of its own."""

    folder: Path

    def clean_environment(self) -> dict[str, str]:
        """The tests' environment without anything that names a model or a proxy."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QWEN_", "OPENAI_", "DASHSCOPE_")) and not name.lower().endswith("_proxy")
        }
        return {**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "qwen_agentkit.cli", *arguments],
            cwd=self.folder,
            env={**self.clean_environment(), **environment},
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


@pytest.fixture
def chat_server() -> Iterator[OAIServer]:
    server = OAIServer()
    yield server
    server.close()
