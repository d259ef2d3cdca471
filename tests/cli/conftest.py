"""The command line as a real process, and a chat server on loopback that speaks the OpenAI protocol."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from qwen_agentkit.log import logger
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
        # A configuration file of the user's own counts for no test.
        own = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "XDG_CONFIG_HOME": str(self.folder / ".config")}
        return {**kept, **own}

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
def shell(tmp_path, monkeypatch, capsys) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs commands in this process, in a folder of their own: what needs no process starts none."""
    from qwen_agentkit.cli import configuration, terminal
    from qwen_agentkit.cli.app import app

    (tmp_path / "resources").symlink_to(RESOURCES)
    monkeypatch.chdir(tmp_path)
    # Programs in the folder are imported by name, and other tests have others of the same name.
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    # `serve` switches the log on; standard error is another one in the next test.
    monkeypatch.setattr(logger, "handlers", list(logger.handlers))
    level = logger.level
    before = dict(os.environ)
    clean = CommandLine(tmp_path).clean_environment()
    os.environ.clear()
    os.environ.update(clean)

    def run(*arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        os.environ.update(environment)
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        monkeypatch.setattr(configuration, "_current", configuration.Config())
        terminal.be_quiet(False)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(arguments), prog_name="qwen-agentkit")
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out, err)

    yield run
    logger.setLevel(level)
    terminal.be_quiet(False)
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def chat_server() -> Iterator[OAIServer]:
    server = OAIServer()
    yield server
    server.close()
