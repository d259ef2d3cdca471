"""Every program of the guide runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.model_server import Answer

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")
PROGRAMS = re.findall(r"^## (.*?)$.*?^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def reply(body: dict) -> Answer | str:
    asked = body["messages"][-1]
    if body.get("tools") and asked["role"] == "user":
        return Answer(calls=[("weather", '{"city": "Oslo"}')])
    return "It is 21 degrees."


@pytest.mark.parametrize(("title", "program"), PROGRAMS, ids=[title for title, _ in PROGRAMS])
def test_the_program_runs(title, program, oai_server, tmp_path):
    pytest.importorskip("sqlalchemy")
    oai_server.script = [reply]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "QWEN_AGENTKIT_MODEL_SERVER": oai_server.url,
            "QWEN_AGENTKIT_DEFAULT_WORKSPACE": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_section_has_its_program():
    assert len(PROGRAMS) == GUIDE.count("\n## ") == GUIDE.count("```python")
