"""Runs the programs that stand in documents."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run_program(program: str, model_server: str, workspace: Path) -> subprocess.CompletedProcess[str]:
    """A program as a process of its own, in the project's folder, with one server for every model it names."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "QWEN_AGENTKIT_MODEL_SERVER": model_server,
            "OPENAI_BASE_URL": model_server,
            "QWEN_AGENTKIT_DEFAULT_WORKSPACE": str(workspace),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
