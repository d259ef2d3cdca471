"""Giving disk space of the workspace back."""

import os
import subprocess
import sys
import time

import pytest

from qwen_agentkit import settings
from qwen_agentkit.rag.housekeeping import clean_workspace
from qwen_agentkit.rag.index import DocumentIndex


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "DEFAULT_WORKSPACE", str(tmp_path / "ws"), raising=False)
    for name in ("old", "new"):
        with DocumentIndex(tmp_path / "ws" / "knowledge" / name) as index:
            index.add_texts([(name, f"The {name} text.")])
    web = tmp_path / "ws" / "documents" / "web" / "page"
    web.mkdir(parents=True)
    (web / "page.html").write_text("old")
    for kept in ("sessions.sqlite", "tools/report.txt", "index/catalog.sqlite", "memory/x/catalog.sqlite"):
        path = tmp_path / "ws" / kept
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        age(path)
    age(tmp_path / "ws" / "knowledge" / "old")
    age(web)
    return tmp_path / "ws"


def age(place, days=40):
    moment = time.time() - days * 86_400
    for parent, _, files in os.walk(place):
        for name in [*files, "."]:
            os.utime(os.path.join(parent, name), (moment, moment))
    os.utime(place, (moment, moment))


def counts(cleaned):
    return {one.kind: one.count for one in cleaned}


def test_what_was_not_used_goes_and_everything_else_stays(workspace):
    month = 30 * 86_400
    expected = {"documents": None, "web": 1, "knowledge": 1}
    assert counts(clean_workspace(month, dry_run=True)) == expected
    cleaned = clean_workspace(month)
    assert counts(cleaned) == expected
    assert all(one.bytes > 0 for one in cleaned if one.count)
    assert os.listdir(workspace / "knowledge") == ["new"]
    for kept in ("sessions.sqlite", "tools/report.txt", "index/catalog.sqlite", "memory/x/catalog.sqlite"):
        assert (workspace / kept).exists()
    assert counts(clean_workspace(month)) == {"documents": None, "web": 0, "knowledge": 0}


def test_an_index_that_another_process_has_open_stays(workspace):
    program = f"""
import sys
from qwen_agentkit.rag.index import DocumentIndex
index = DocumentIndex({str(workspace / "knowledge" / "old")!r})
print("open", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == "open\n"
        age(workspace / "knowledge" / "old")
        assert counts(clean_workspace(0))["knowledge"] == 1
        assert os.listdir(workspace / "knowledge") == ["old"]
        process.communicate("")
    age(workspace / "knowledge" / "old")
    assert counts(clean_workspace(0))["knowledge"] == 1


def test_what_a_killed_cleaning_left_goes_with_the_next(workspace):
    os.replace(workspace / "knowledge" / "old", workspace / "knowledge" / ".leaving-old")
    assert counts(clean_workspace(30 * 86_400))["knowledge"] == 1
    assert os.listdir(workspace / "knowledge") == ["new"]


def test_an_empty_workspace_is_fine_and_a_negative_age_is_not(tmp_path):
    assert [one.bytes for one in clean_workspace(0, tmp_path / "none")] == [0, 0, 0]
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="0 or more seconds"):
        clean_workspace(-1)
