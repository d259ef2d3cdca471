"""Citations as a person reads them."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.cli.sources import Sources

# Kinds of files whose pages are called otherwise.
_PAGE_WORDS = {".pptx": "slide"}


def citation_line(citation: dict[str, Any], sources: Sources) -> str:
    """One line such as `[1] resources/handbook.pdf, page 7, "Warranty"`."""
    file = sources.show(citation["source"])
    parts = [file]
    if citation.get("page") is not None:
        word = next((word for ending, word in _PAGE_WORDS.items() if file.lower().endswith(ending)), "page")
        parts.append(_span(word, citation["page"], citation.get("page_end")))
    if citation.get("sheet"):
        parts.append(f'sheet "{citation["sheet"]}"')
    if citation.get("rows"):
        parts.append(_span("row", *citation["rows"]))
    if citation.get("section"):
        parts.append(f'"{citation["section"]}"')
    return f"[{citation['n']}] " + ", ".join(parts)


def _span(word: str, first: int, last: int | None) -> str:
    return f"{word} {first}" if last in (None, first) else f"{word}s {first} to {last}"
