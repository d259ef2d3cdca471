"""Text of models and tools made harmless for a page that shows Markdown: no HTML of theirs, no picture from elsewhere.

Code keeps its characters, since Markdown shows them as they are. What stands outside of code has `&` and `<` written
as entities (in a formula, where `&` parts columns, `<` becomes its TeX name), and the pictures of Markdown become
links: a picture's address would be fetched without asking, and could carry away what the model has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from qwen_agentkit.utils.optional import need

_TICKS = re.compile(r"`+")
_IMAGE = re.compile(r"!(?=\[)")
# A formula set apart; it ends in its own paragraph.
_FORMULA = re.compile(r"\$\$(?:(?!\$\$|\n[ \t]*\n).)+\$\$", re.DOTALL)
_ENTITY = re.compile(r"&(lt|amp|#33);")
_CHARACTERS = {"lt": "<", "amp": "&", "#33": "!"}
_NEW_LINE = re.compile(r"\r\n?")


@lru_cache(maxsize=2_000)
def parts(text: str) -> tuple[tuple[bool, str], ...]:
    """The text in pieces: (is it code, the piece). Joined they are the text, its line ends being `\\n`.

    Which lines are code is what a CommonMark parser says; a fence that is not closed (a text that is still coming) is
    code up to the end. Code spans are looked for in each paragraph by itself (CommonMark 6.1).
    """
    text = _NEW_LINE.sub("\n", text)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    pieces: list[tuple[bool, str]] = []
    place = 0
    for is_code, first, last in _regions(text):
        start, end = starts[first], min(starts[last], len(text))
        if start < place:
            continue
        if start > place:
            pieces.append((False, text[place:start]))
        pieces += [(True, text[start:end])] if is_code else _spans(text[start:end])
        place = end
    if place < len(text):
        pieces.append((False, text[place:]))
    return tuple(pieces)


@lru_cache(maxsize=1)
def _parser() -> Any:
    return need("markdown_it", extra="gui").MarkdownIt("commonmark", {"html": False}).enable("table")


def _regions(text: str) -> Iterator[tuple[bool, int, int]]:
    """Code blocks and paragraphs in order: (is it code, first line, line behind the last)."""
    for token in _parser().parse(text):
        if token.map and token.type in ("fence", "code_block", "inline"):
            yield token.type != "inline", token.map[0], token.map[1]


def _spans(text: str) -> Iterator[tuple[bool, str]]:
    """The code spans of a paragraph and what is between them."""
    place = 0
    for opening in _TICKS.finditer(text):
        if opening.start() < place or _is_escaped(text, opening.start()):
            continue
        closing = next((run for run in _TICKS.finditer(text, opening.end()) if run[0] == opening[0]), None)
        if closing is None:
            continue
        if opening.start() > place:
            yield False, text[place : opening.start()]
        yield True, text[opening.start() : closing.end()]
        place = closing.end()
    if place < len(text):
        yield False, text[place:]


def _is_escaped(text: str, place: int) -> bool:
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def escape(text: str, outside_code: Callable[[str], str] | None = None) -> str:
    """The text for a page that shows Markdown.

    Args:
        text: What a model, a tool or a person wrote.
        outside_code: Does something more with each piece that is not code, after it is made harmless.
    """

    def harmless(piece: str) -> str:
        piece = piece.replace("&", "&amp;").replace("<", "&lt;")
        piece = _IMAGE.sub("&#33;", piece)
        return outside_code(piece) if outside_code is not None else piece

    def with_formulas(piece: str) -> str:
        place, done = 0, []
        for formula in _FORMULA.finditer(piece):
            done += [harmless(piece[place : formula.start()]), formula[0].replace("<", r"\lt ")]
            place = formula.end()
        return "".join([*done, harmless(piece[place:])])

    return "".join(piece if is_code else with_formulas(piece) for is_code, piece in parts(text))


def unescape(text: str) -> str:
    """What `escape(text)` was made of; for a text that a person edited in its escaped form."""
    return "".join(
        piece if is_code else _ENTITY.sub(lambda match: _CHARACTERS[match[1]], piece) for is_code, piece in parts(text)
    )


def fenced(text: str, language: str = "") -> str:
    """The text as a code block that nothing in it can end."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
