"""Text of models and tools made harmless for a page that shows Markdown: no HTML of theirs, no picture from elsewhere.

Code keeps its characters, since Markdown shows them as they are. What stands outside of code has `&` and `<` written
as entities (in a formula, where `&` parts columns, `<` becomes its TeX name), and the pictures of Markdown become
links: a picture's address would be fetched without asking, and could carry away what the model has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# A line that opens a fenced block, as CommonMark has it (section 4.5).
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_IMAGE = re.compile(r"!(?=\[)")
# A formula set apart; it ends in its own paragraph.
_FORMULA = re.compile(r"\$\$(?:(?!\$\$|\n[ \t]*\n).)+\$\$", re.DOTALL)
_ENTITY = re.compile(r"&(lt|amp|#33);")
_CHARACTERS = {"lt": "<", "amp": "&", "#33": "!"}


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: (is it code, the piece). Joined they are the text.

    A fence that is not closed (a text that is still coming) is code up to the end.
    """
    place = 0
    while (opening := _FENCE.search(text, place)) is not None:
        yield from _inline_parts(text[place : opening.start()])
        fence = opening["fence"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        after_line = text.find("\n", opening.end())
        closed = closing.search(text, after_line + 1) if after_line >= 0 else None
        end = closed.end() if closed else len(text)
        yield True, text[opening.start() : end]
        place = end
    yield from _inline_parts(text[place:])


def _inline_parts(text: str) -> Iterator[tuple[bool, str]]:
    """Code spans and what is between them; a span ends in its own paragraph (CommonMark 6.1)."""
    place = 0
    for opening in _TICKS.finditer(text):
        if opening.start() < place or _is_escaped(text, opening.start()):
            continue
        blank = _BLANK_LINE.search(text, opening.end())
        limit = blank.start() if blank else len(text)
        closing = next((run for run in _TICKS.finditer(text, opening.end(), limit) if run[0] == opening[0]), None)
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
