"""Which files a list of paths, folders, patterns and addresses stands for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# What a folder contributes: documents that people write, not program text.
_DOCUMENTS = (
    ".csv .docx .eml .epub .htm .html .ipynb .json .jsonl .markdown .md .ods .odt .pdf .pptx .rst .rtf .tsv .txt "
    ".xls .xlsb .xlsx .xml"
)
DOCUMENT_ENDINGS = frozenset(_DOCUMENTS.split())

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

    def add(self, file: str, shown: str) -> None:
        if file not in self.shown:
            self.shown[file] = shown
            self.files.append(file)

    def show(self, file: str) -> str:
        """The name to show for a file: as given, else as it is."""
        return self.shown.get(file, file)


def is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def find_sources(given: Sequence[str | os.PathLike[str]]) -> Sources:
    """Resolves paths; folders are walked and patterns expanded in the order of their names.

    Args:
        given: Files, folders, patterns with `*`, `?` or `[`, and addresses. A file that is named itself is taken
            whatever it is called; a folder contributes its documents, by their endings.

    Returns:
        The files found. Hidden files and folders are left out, links to folders are not followed.
    """
    sources = Sources()
    for name in map(os.fspath, given):
        if is_address(name):
            sources.add(name, name)
            continue
        name = name.removeprefix("file://")
        if os.path.isdir(name):
            found = [path for path in _walk(name) if Path(path).suffix.lower() in DOCUMENT_ENDINGS]
            if not found:
                sources.problems.append({"file": name, "reason": "the folder holds no document that can be read"})
        elif os.path.exists(name):
            found = [name]
        else:
            found = [path for path in sorted(glob.glob(name, recursive=True)) if os.path.isfile(path)]
            if not found:
                sources.problems.append({"file": name, "reason": "there is no such file"})
        for path in found:
            sources.add(os.path.realpath(path), path)
    return sources


def _walk(folder: str) -> Iterator[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield os.path.join(root, name)
