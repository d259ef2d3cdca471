"""What an engine finds on one PDF page: words with boxes, ruling lines, pictures. Layout works on this alone.

Coordinates are points from the top left corner of the page as it is shown (its rotation applied), y downwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Letters of scripts that are read from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and their forms.
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_CJK = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[\U00020000-\U0003ffff]")
# Scripts that are written without spaces, their punctuation and full-width signs; Korean has spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1780-\u17d3\u2e80-\u312f\u3190-\ua4cf\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U00020000-\U0003ffff]"
)


@dataclass(slots=True)
class Word:
    """Characters drawn together without a space.

    Args:
        text: The characters.
        x0: Left edge.
        y0: Top edge.
        x1: Right edge.
        y1: Bottom edge.
        size: Font size in points.
        bold: The font is a bold one.
        mono: All characters of the font are equally wide, as in program text.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool = False
    mono: bool = False


@dataclass(slots=True)
class Rule:
    """A straight line drawn on the page, or one side of a box.

    Args:
        at: y of a level rule, x of an upright one.
        start: Its left or upper end.
        end: Its right or lower end.
    """

    at: float
    start: float
    end: float


@dataclass
class PageContent:
    """All that an engine found on a page.

    Args:
        number: 1-based page number.
        width: Width as shown, in points.
        height: Height as shown, in points.
        words: Upright words in the order of the engine.
        aside: Lines of text that do not stand upright, as plain text.
        level_rules: Level lines and box sides.
        upright_rules: Upright lines and box sides.
        unmapped: Characters whose glyphs have no known meaning; they are not among the words.
        pictures: Raster pictures on the page.
        drawings: Lines and shapes that the page draws; letters turned into outlines are many of them.
        text_objects: Pieces of text that the page draws, readable or not.
        notes: Comments and filled form fields that lie on the page.
        vertical: Text runs from top to bottom, columns from right to left.
    """

    number: int
    width: float
    height: float
    words: list[Word] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    level_rules: list[Rule] = field(default_factory=list)
    upright_rules: list[Rule] = field(default_factory=list)
    unmapped: int = 0
    pictures: int = 0
    drawings: int = 0
    text_objects: int = 0
    notes: list[str] = field(default_factory=list)
    vertical: bool = False

    def characters(self) -> int:
        """Characters of text on the page, spaces aside."""
        return sum(len(word.text) for word in self.words) + sum(len("".join(line.split())) for line in self.aside)

    def cjk_characters(self) -> int:
        """Chinese, Japanese and Korean characters on the page."""
        return sum(len(_CJK.findall(word.text)) for word in self.words if not word.text.isascii()) + sum(
            len(_CJK.findall(line)) for line in self.aside if not line.isascii()
        )

    def is_right_to_left(self) -> bool:
        """At least a fifth of the words hold letters of a right-to-left script."""
        hits = sum(1 for word in self.words if not word.text.isascii() and _RTL.search(word.text))
        return hits * 5 >= max(len(self.words), 1)


class Shown:
    """Turns page coordinates (y upwards, not rotated) into those of `PageContent`."""

    def __init__(self, box: tuple[float, float, float, float], rotation: int) -> None:
        self.left, self.bottom, self.right, self.top = box
        self.rotation = rotation % 360

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """A box given as left, bottom, right, top, as (x0, y0, x1, y1) with y downwards."""
        if self.rotation == 90:
            return y0 - self.bottom, x0 - self.left, y1 - self.bottom, x1 - self.left
        if self.rotation == 180:
            return self.right - x1, y0 - self.bottom, self.right - x0, y1 - self.bottom
        if self.rotation == 270:
            return self.top - y1, self.right - x1, self.top - y0, self.right - x0
        return x0 - self.left, self.top - y1, x1 - self.left, self.top - y0


def has_cjk(text: str) -> bool:
    """The text holds a Chinese, Japanese or Korean character."""
    return not text.isascii() and _CJK.search(text) is not None


def joins_unspaced(before: str, after: str) -> bool:
    """Nothing stands between the end of `before` and the start of `after` when they are joined to running text."""
    return _UNSPACED.match(before[-1]) is not None and _UNSPACED.match(after[0]) is not None
