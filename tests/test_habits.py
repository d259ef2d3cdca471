"""What no file of the package does: habits that once hid failures, trusted input or wrote where they should not."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "qwen_agentkit"
FILES = sorted(PACKAGE.rglob("*.py"))
# The program inside the sandbox is there to run code.
RUNS_CODE = {"tools/code/runner.py"}
UNPICKLERS = {"pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "cloudpickle"}


def found(node: ast.AST) -> str | None:
    """What is wrong with a node, if anything is."""
    if isinstance(node, ast.Assert):
        return "an assertion, which says nothing to a caller and is gone under -O"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "print":
            return "print"
        if node.func.id in ("eval", "exec"):
            return node.func.id
    if isinstance(node, ast.Call) and any(
        word.arg == "shell" and not (isinstance(word.value, ast.Constant) and word.value.value is False)
        for word in node.keywords
    ):
        return "a shell"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "os.system":
        return "a shell"
    if isinstance(node, ast.ExceptHandler):
        broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
        if broad and all(isinstance(one, ast.Pass | ast.Continue) for one in node.body):
            return "a failure that is hidden"
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if UNPICKLERS & {name.partition(".")[0] for name in names}:
            return "unpickling"
    return None


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_no_file_hides_failures_trusts_input_or_writes_to_the_terminal(path):
    name = path.relative_to(PACKAGE).as_posix()
    bad = [
        f"{name}:{getattr(node, 'lineno', 0)}: {what}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (what := found(node)) is not None and not (name in RUNS_CODE and what in ("eval", "exec"))
    ]
    assert bad == []


@pytest.mark.parametrize(
    "code",
    ["assert x", "print(1)", "eval('1')", "try: f()\nexcept Exception: pass", "import pickle", "from dill import load",
     "run('x', shell=True)", "import os\nos.system('x')"],
)  # fmt: skip
def test_what_is_looked_for_is_found(code):
    assert any(found(node) for node in ast.walk(ast.parse(code)))
