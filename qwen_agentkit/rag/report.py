"""What `DocumentIndex` says about its work: reports of adding, changes, problems."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A source that could not be indexed, or only in part.

    Args:
        source: Which one.
        reason: Why, one line for a person.
        kind: Name of the error, `FileNotFoundError` for a path that does not exist, or `warning` when the source is
            indexed all the same.
    """

    source: str
    reason: str
    kind: str = "DocParserError"


@dataclass
class AddReport:
    """What `add` did. Each list names sources.

    Args:
        added: New ones.
        updated: Those whose content had changed.
        unchanged: Those that were as they were.
        removed: Those that are gone from the folder, or from the disk.
        problems: Those that cannot be read, with the reason.
        warnings: What was said about those that were read: source -> lines.
    """

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the index is another one now."""
        return bool(self.added or self.updated or self.removed)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """A source that changed in the index.

    Args:
        source: Which one.
        kind: `added`, `updated` or `removed`.
        at: When, in seconds since the epoch.
        pages: Pages whose text is another one, new or gone; None where there are no pages, and for a source that is
            gone or new as a whole.
        citations: Of those handed to `changes`, the ones that rested on what changed.
    """

    source: str
    kind: str
    at: float
    pages: list[int] | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
