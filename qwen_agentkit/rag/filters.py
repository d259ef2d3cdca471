"""Which documents and passages a search may give."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qwen_agentkit.rag.hits import Hit
from qwen_agentkit.rag.sources import is_url, lies_in

if TYPE_CHECKING:
    from qwen_agentkit.rag.catalog import Catalog

Filter = Mapping[str, Any] | Callable[[Hit], bool] | None

KEYS = ("source", "file_type", "page", "sheet", "section")


@dataclass(frozen=True)
class HitFilter:
    """A filter that was read.

    Args:
        sources: Paths, folders, patterns, ids; None lets all through.
        file_types: Kinds of files; None lets all through.
        pages: First and last page; None lets all through.
        sheet: Name of a sheet.
        section: A part of the headings, letter case aside.
        test: A function of the caller's.
    """

    sources: tuple[str, ...] | None = None
    file_types: frozenset[str] | None = None
    pages: tuple[int, int] | None = None
    sheet: str | None = None
    section: str | None = None
    test: Callable[[Hit], bool] | None = None

    @classmethod
    def read(cls, given: Filter) -> HitFilter:
        """Reads what `search` takes as `filter`.

        Raises:
            ValueError: It is not understood.
        """
        if given is None:
            return cls()
        if callable(given):
            return cls(test=given)
        if not isinstance(given, Mapping) or not set(given) <= set(KEYS):
            raise ValueError(f"filter is a function of a hit, or a dict with {', '.join(KEYS)}; given {given!r}")
        page = given.get("page")
        if page is not None:
            pages = (page, page) if isinstance(page, int) else tuple(page)
            if len(pages) != 2 or not all(isinstance(number, int) for number in pages):
                raise ValueError(f"filter['page'] is a page or (first, last), not {page!r}")
        return cls(
            sources=_several(given.get("source")),
            file_types=frozenset(kinds) if (kinds := _several(given.get("file_type"))) is not None else None,
            pages=None if page is None else (pages[0], pages[1]),
            sheet=given.get("sheet"),
            section=given.get("section"),
        )

    @property
    def is_open(self) -> bool:
        """Whether every passage of an allowed document is let through."""
        return self.pages is None and self.sheet is None and self.section is None and self.test is None

    def documents(self, catalog: Catalog) -> set[int] | None:
        """Numbers of the documents that are allowed; None is all."""
        if self.sources is None and self.file_types is None:
            return None
        return {
            entry.id
            for entry in catalog.entries("live")
            if (self.file_types is None or entry.file_type in self.file_types)
            and (self.sources is None or any(_names(name, entry.source) for name in self.sources))
        }

    def lets_through(self, hit: Hit) -> bool:
        """Whether a passage of an allowed document counts."""
        if self.pages is not None:
            first, last = self.pages
            if hit.page is None or hit.page > last or (hit.page_end or hit.page) < first:
                return False
        if self.sheet is not None and hit.sheet != self.sheet:
            return False
        if self.section is not None and self.section.lower() not in (hit.section or "").lower():
            return False
        return self.test is None or bool(self.test(hit))


def _several(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, (str, os.PathLike)):
        return (os.fspath(value),)
    if isinstance(value, Iterable):
        return tuple(os.fspath(one) for one in value)
    raise ValueError(f"A name or several are wanted in a filter, not {value!r}")


def _names(name: str, source: str) -> bool:
    """Whether a name means a source: itself, a folder above it, a pattern that it fits."""
    if name == source:
        return True
    if is_url(name):
        return fnmatch.fnmatchcase(source, name)
    real = os.path.realpath(os.path.expanduser(name))
    return (
        lies_in(source, real) or fnmatch.fnmatchcase(source, name) or fnmatch.fnmatchcase(source, os.path.abspath(name))
    )
