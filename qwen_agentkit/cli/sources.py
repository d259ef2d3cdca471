"""Which files the paths on the command line stand for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qwen_agentkit import settings

Problem = dict[str, str]

# What a folder contributes: documents that people write, not program text.
_DOCUMENTS = (
    ".pdf .docx .pptx .xlsx .xlsb .xls .ods .csv .tsv .html .htm .md .markdown .txt .rst .json .jsonl .xml .epub .odt "
    ".rtf .eml .ipynb"
)
DOCUMENT_ENDINGS = frozenset(_DOCUMENTS.split())


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

    def add(self, file: str, shown: str) -> None:
        if file not in self.shown:
            self.shown[file] = shown
            self.files.append(file)

    def show(self, file: str) -> str:
        """The name to show for a file: as given, else as it is."""
        return self.shown.get(file, file)


def find_sources(given: Sequence[str]) -> Sources:
    """Resolves paths; folders are walked in the order of their names.

    Args:
        given: Files, folders and addresses as the user wrote them. A file that is named itself is taken whatever
            it is called; a folder contributes its documents, by their endings.

    Returns:
        The files found. Hidden files and folders are left out, links to folders are not followed.
    """
    sources = Sources()
    for name in given:
        if is_address(name):
            sources.add(name, name)
        elif os.path.isdir(name):
            found = [path for path in _walk(name) if Path(path).suffix.lower() in DOCUMENT_ENDINGS]
            if not found:
                sources.problems.append({"file": name, "reason": "the folder holds no document that can be read"})
            for path in found:
                sources.add(os.path.realpath(path), path)
        elif os.path.exists(name):
            sources.add(os.path.realpath(name), name)
        else:
            sources.problems.append({"file": name, "reason": "there is no such file"})
    return sources


def is_address(name: str) -> bool:
    """Whether a source is on the web and not on this machine."""
    return name.startswith(("http://", "https://"))


def _walk(folder: str) -> Iterator[str]:
    # What the framework itself has written is no document of the user's.
    workspace = os.path.realpath(settings.DEFAULT_WORKSPACE)
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(root, name)) != workspace
        )
        for name in sorted(files):
            if not name.startswith("."):
                yield os.path.join(root, name)
