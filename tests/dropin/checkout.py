"""A temporary copy of a Qwen-Agent checkout in which only the imported name and the addresses are other ones."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

# What the programs are and what they read. The package itself is left behind: nothing of it can be imported.
_PARTS = ("examples", "tests", "qwen_server", "assets")
_NAME = re.compile(r"\bqwen_agent\b")
# Model services stay as the programs name them: that they are redirected is part of what is shown.
_MODEL_SERVICE = re.compile(r"https?://[^\s'\"]*(dashscope\.aliyuncs\.com/compatible-mode|localhost)[^\s'\"]*")
_ADDRESS = re.compile(r"https?://([\w.-]+\.[a-z]{2,}(?:/[\w./%?=&~+-]*)?)")


def copy_checkout(checkout: Path, target: Path, web: str) -> None:
    """Copies the programs of a checkout.

    Args:
        checkout: Where the repository lies.
        target: A folder that does not exist yet.
        web: Address of the local stand-in for the web; an address `https://host/path` becomes `<web>/host/path`.

    Raises:
        ValueError: The folder is no checkout of Qwen-Agent.
    """
    if not (checkout / "examples").is_dir() or not (checkout / "qwen_agent").is_dir():
        raise ValueError(f"{checkout} is no checkout of Qwen-Agent: it has no examples/ beside qwen_agent/")
    for part in _PARTS:
        if (checkout / part).is_dir():
            shutil.copytree(checkout / part, target / part)
    for path in [*target.rglob("*.py"), *target.rglob("*.ipynb")]:
        path.write_text(rewritten(path.read_text("utf-8"), web), "utf-8")
    for path in (target / "examples").glob("*.ipynb"):
        path.with_suffix(".cells.py").write_text(cells(path), "utf-8")


def rewritten(text: str, web: str) -> str:
    """The text of a program with the one changed name, and with local addresses."""

    def local(found: re.Match[str]) -> str:
        return found[0] if _MODEL_SERVICE.match(found[0]) else f"{web}/{found[1]}"

    return _ADDRESS.sub(local, _NAME.sub("qwen_agentkit", text))


def cells(notebook: Path) -> str:
    """The code cells of a notebook as one program; lines for the shell are left out."""
    code = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code += [line for line in "".join(cell["source"]).splitlines() if not line.startswith(("!", "%"))]
    return "\n".join(code) + "\n"
