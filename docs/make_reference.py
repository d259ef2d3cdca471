"""Writes the API reference from the docstrings, one Markdown page a module.

    python docs/make_reference.py FOLDER

Modules are read as text and not imported, so that extras need not be installed. Shown is what has a docstring and a
name without an underscore.
"""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "qwen_agentkit"

Described = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules() -> Iterator[tuple[str, Path]]:
    """Public modules of the package: (name with dots, file)."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not any(part.startswith("_") for part in name.split(".")):
            yield name, path


def page(name: str, path: Path) -> str:
    """The page of one module; "" when it has nothing public."""
    module = ast.parse(path.read_text("utf-8"))
    entries = [text for node in module.body for text in entry(node, "##")]
    if not entries:
        return ""
    return "\n\n".join([f"# {name}", text_of(module), *entries]) + "\n"


def entry(node: ast.stmt, heading: str) -> Iterator[str]:
    """The parts of a page for a function or a class with its methods."""
    if not isinstance(node, Described) or node.name.startswith("_") or ast.get_docstring(node) is None:
        return
    yield f"{heading} `{signature(node)}`"
    yield text_of(node)
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            yield from entry(member, heading + "#")


def signature(node: Described) -> str:
    """The name with its parameters; those of a class are of its `__init__`, or its fields."""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        inits = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        init = next(inits, None)
        made = f"{node.name}{parameters(init)}" if init else f"{node.name}({', '.join(fields(node))})"
        return f"class {made}" + (f" : {bases}" if bases else "")
    if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
        return node.name + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{kind}{node.name}{parameters(node)}{returns}"


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(node.args)
    for first in ("self, ", "cls, ", "self", "cls"):
        if arguments == first or (first.endswith(", ") and arguments.startswith(first)):
            arguments = arguments[len(first) :]
            break
    return f"({arguments})"


def fields(node: ast.ClassDef) -> list[str]:
    """The fields of a dataclass; other classes have none to show."""
    if not any("dataclass" in ast.unparse(one) for one in node.decorator_list):
        return []
    return [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)]


def text_of(node: ast.Module | Described) -> str:
    """A docstring as Markdown: sections become bold words, their lines a list."""
    lines, in_section = [], False
    for line in inspect.cleandoc(ast.get_docstring(node) or "").splitlines():
        if line in ("Args:", "Returns:", "Yields:", "Raises:", "Attributes:"):
            lines += [f"**{line.removesuffix(':')}**", ""]
            in_section = True
        elif in_section and line.startswith("    ") and not line.startswith("     "):
            lines.append(f"- {line.strip()}")
        elif in_section and line.startswith("     "):
            lines.append(f"  {line.strip()}")
        else:
            in_section = in_section and not line
            lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the API reference from the docstrings.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, path in modules():
        text = page(name, path)
        if text:
            (folder / f"{name}.md").write_text(text, "utf-8")
            names.append(name)
    index = "\n".join(f"- [{name}]({name}.md)" for name in names)
    (folder / "index.md").write_text(f"# API reference\n\n{index}\n", "utf-8")
    print(f"{len(names)} pages in {folder}")


if __name__ == "__main__":
    main()
