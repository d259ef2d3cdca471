"""Which files the paths on the command line stand for, and what the user calls each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

Problem = dict[str, str]


@dataclass
class Sources:
    """Files to read, and what was given but cannot be.

    Args:
        files: Absolute, resolved paths and addresses, each once, in the order given.
        shown: For each of them, how the user wrote it.
        problems: `{"file", "reason"}` for what is missing or empty.
    """

    files: list[str] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def show(self, file: str) -> str:
        """The name to show for a file: as given, else as it is."""
        return self.shown.get(file, file)


def find_sources(given: Sequence[str]) -> Sources:
    """The documents that the arguments of a command mean, as the document tools find them.

    Args:
        given: Files, folders, patterns and addresses as the user wrote them. Addresses are fetched.
    """
    from qwen_agentkit.tools import documents

    sources = Sources()
    for name in given:
        found = documents.find_sources([name])
        sources.problems += [problem.to_dict() for problem in found.problems]
        for file in found.paths:
            if file not in sources.shown:
                sources.files.append(file)
                sources.shown[file] = _as_written(file, name)
    return sources


def _as_written(file: str, name: str) -> str:
    """A file's path in the terms of the argument that brought it."""
    if not os.path.isabs(file) or not os.path.exists(name):
        # An address stays what it is; a pattern's matches are shown from here.
        return os.path.relpath(file) if os.path.isabs(file) else file
    return os.path.normpath(os.path.join(name, os.path.relpath(file, os.path.realpath(name))))
