"""The API reference is made from the docstrings alone."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_each_public_module_gets_a_page(tmp_path):
    script = ROOT / "docs" / "make_reference.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, timeout=60)
    page = (tmp_path / "qwen_agentkit.agents.fncall_agent.md").read_text("utf-8")
    assert "## `class FnCallAgent(function_list" in page
    assert "- files: Documents" in page
    assert "self" not in page.partition("### `resume(")[2].partition("`")[0]
    index = (tmp_path / "index.md").read_text("utf-8")
    assert "(qwen_agentkit.llm.base.md)" in index
    assert not [path for path in tmp_path.iterdir() if "._" in path.name]
