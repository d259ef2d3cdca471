"""Reads a function's docstring: what it does, and what each parameter means.

Understands the three styles in use: Google (``Args:``), NumPy (``Parameters`` underlined with dashes) and
Sphinx (``:param name: ...``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

_GOOGLE_HEAD = re.compile(
    r"(args|arguments|parameters|params|keyword args|keyword arguments|other parameters|returns?|yields?|raises|"
    r"examples?|notes?|warnings?|warns|attributes|see also|references|todo)\s*:\s*$",
    re.IGNORECASE,
)
_NUMPY_HEAD = re.compile(
    r"(parameters|other parameters|returns?|yields?|receives|raises|examples?|notes?|warns|warnings?|attributes|"
    r"see also|references|methods)\s*$",
    re.IGNORECASE,
)
_PARAMETER_HEADS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
# `name: text`, `name (int, optional): text`, `*name: text`
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$")
# `name : int, optional`, `first, second : int`, `name`
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r":(\w+)(?:\s+([^:]*?))?\s*:\s*(.*)$")
_SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})


@dataclass
class Docstring:
    """A docstring taken apart.

    Args:
        description: Everything before the first section.
        parameters: Parameter -> what it means, in one line.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Takes a docstring of any of the three styles apart; without one everything is empty."""
    lines = inspect.cleandoc(text or "").splitlines()
    found = Docstring()
    description: list[str] = []
    position = 0
    in_description = True
    while position < len(lines):
        line = lines[position]
        google = _GOOGLE_HEAD.match(line)
        numpy = _NUMPY_HEAD.match(line) if _is_underlined(lines, position) else None
        sphinx = _SPHINX_FIELD.match(line)
        head = google or numpy
        if head:
            in_description = False
            start = position + (2 if numpy else 1)
            end = _section_end(lines, start, indented=bool(google))
            name = head[1].lower()
            if name in _PARAMETER_HEADS:
                read = _google_entries if google else _numpy_entries
                found.parameters.update(read(lines[start:end]))
            position = end
            continue
        if sphinx and (sphinx[2] or sphinx[1].lower() in ("return", "returns", "rtype", "yields", "raises")):
            in_description = False
            end = position + 1
            # A field goes on in indented lines.
            while end < len(lines) and lines[end].startswith((" ", "\t")):
                end += 1
            if sphinx[1].lower() in _SPHINX_PARAMETERS and sphinx[2]:
                name = sphinx[2].split()[-1].lstrip("*")
                found.parameters[name] = _joined([sphinx[3], *lines[position + 1 : end]])
            position = end
            continue
        if in_description:
            description.append(line)
        position += 1
    found.description = "\n".join(description).strip()
    return found


def _is_underlined(lines: list[str], position: int) -> bool:
    below = lines[position + 1].strip() if position + 1 < len(lines) else ""
    return len(below) >= 3 and set(below) <= {"-"}


def _section_end(lines: list[str], start: int, indented: bool) -> int:
    """Where a section ends: at the next heading, or (Google) at the first line that is not indented."""
    position = start
    while position < len(lines):
        line = lines[position]
        if indented and line.strip() and not line.startswith((" ", "\t")):
            return position
        if not indented and (_is_underlined(lines, position) and _NUMPY_HEAD.match(line)):
            return position
        position += 1
    return position


def _google_entries(lines: list[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]
    if not filled:
        return {}
    margin = min(len(line) - len(line.lstrip()) for line in filled)
    return _entries(filled, margin, lambda text: ([m[1]], m[2]) if (m := _GOOGLE_ENTRY.match(text)) else None)


def _numpy_entries(lines: list[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]

    def head(text: str) -> tuple[list[str], str] | None:
        entry = _NUMPY_ENTRY.match(text)
        return ([name.strip().lstrip("*") for name in entry[1].split(",")], "") if entry else None

    return _entries(filled, 0, head)


def _entries(lines: list[str], margin: int, head: Callable[[str], tuple[list[str], str] | None]) -> dict[str, str]:
    """Entries that begin at the margin and go on in lines further in."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        at_margin = len(line) - len(line.lstrip()) <= margin
        entry = head(line.strip()) if at_margin else None
        if entry is not None:
            names, text = entry
            current = [text]
            for name in names:
                found[name] = current
        elif current is not None:
            current.append(line)
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: list[str]) -> str:
    return " ".join(" ".join(parts).split())
