"""Every program of the guide runs as it stands."""

import re

import pytest

from tests.programs import ROOT, run_program
from tests.servers.model_server import Answer

GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")
PROGRAMS = re.findall(r"^## (.*?)$.*?^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def reply(body: dict) -> Answer | str:
    if "input" in body and "voice" in body:
        return Answer(raw=b"\x00\x01" * 2400, content_type="audio/pcm")
    asked = body["messages"][-1]
    if body.get("tools") and asked["role"] == "user":
        return Answer(calls=[("weather", '{"city": "Oslo"}')])
    return "It is 21 degrees."


@pytest.mark.parametrize(("title", "program"), PROGRAMS, ids=[title for title, _ in PROGRAMS])
def test_the_program_runs(title, program, oai_server, tmp_path):
    pytest.importorskip("sqlalchemy")
    oai_server.script = [reply]
    done = run_program(program, oai_server.url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and "could not be spoken" not in done.stdout


def test_every_section_has_its_program():
    assert len(PROGRAMS) == GUIDE.count("\n## ") == GUIDE.count("```python")
