"""Styles, list numbering and symbol fonts of a DOCX: what a paragraph is and which number stands before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.parsers.ooxml import attribute, local, read_xml

_HEADING_NAME = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_BULLETS = frozenset({"bullet", "none"})
_CHINESE_DIGITS = "〇一二三四五六七八九"
_CHINESE_FORMATS = frozenset(
    {"chineseCounting", "chineseCountingThousand", "japaneseCounting", "ideographDigital", "taiwaneseCounting"}
)

# Adobe's Symbol encoding for Greek letters and what Word writes as marks from Wingdings.
_SYMBOL_GREEK = dict(zip("abgdezhqiklmnxoprstufcyw", "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
_SYMBOL_GREEK |= {key.upper(): value.upper() for key, value in _SYMBOL_GREEK.items()}
_SYMBOL_OTHERS = {0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB4: "×", 0xB9: "≠", 0xBB: "≈", 0xAE: "→", 0xB0: "°", 0xD6: "√"}
_SYMBOL_OTHERS |= {0xA5: "∞", 0xE5: "∑", 0xF2: "∫", 0xB7: "•", 0xC5: "⊕", 0xCE: "∈", 0xDE: "⇒", 0xAC: "←"}
_WINGDINGS = {0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0x78: "☒", 0xA7: "▪", 0x6C: "●"}
_WINGDINGS |= {0x6E: "■", 0xE0: "→", 0xD8: "➢", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0xAB: "★", 0x52: "☉"}


@dataclass
class Style:
    """A paragraph style: what it inherits from and what it says about headings and lists."""

    name: str
    based_on: str | None = None
    outline: int | None = None
    number: str | None = None
    number_level: int | None = None


@dataclass
class _Level:
    form: str = "decimal"
    pattern: str = ""
    start: int = 1
    restart: int | None = None  # it begins anew after a level below this number only; 0 is never


@dataclass
class Numbering:
    """List numbering: counts paragraphs as Word does and gives the marker that stands before each."""

    levels: dict[str, dict[int, _Level]] = field(default_factory=dict)  # numId -> level -> how it is written
    lists: dict[str, str] = field(default_factory=dict)  # numId -> the abstract list, which does the counting
    overrides: dict[tuple[str, int], int] = field(default_factory=dict)
    _counters: dict[str, dict[int, int]] = field(default_factory=dict)
    _restarted: set[tuple[str, int]] = field(default_factory=set)

    def marker(self, number: str, level: int) -> str:
        """The next marker of a list, such as `-`, `3.` or `1.2`; '' when the list has no visible one."""
        levels = self.levels.get(number)
        if levels is None:
            return "-"
        this = levels.get(level, _Level("bullet"))
        key = self.lists.get(number, number)
        counters = self._counters.setdefault(key, {})
        for deeper in [other for other in counters if other > level]:
            restarts_after = levels.get(deeper, _Level()).restart
            if restarts_after is None or level < restarts_after:
                del counters[deeper]
        new_start = self.overrides.get((number, level))
        if new_start is not None and (number, level) not in self._restarted:
            self._restarted.add((number, level))
            counters[level] = new_start
        else:
            counters[level] = counters[level] + 1 if level in counters else this.start
        if this.form == "bullet":
            return "-"
        if this.form == "none" and "%" not in this.pattern:
            return this.pattern.strip()

        def written(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            of = levels.get(at, _Level())
            return write_number(counters.get(at, of.start), of.form)

        return re.sub(r"%([1-9])", written, this.pattern).strip()


def write_number(value: int, form: str) -> str:
    """A list number in the given format (`w:numFmt`); formats that are not known are written in digits."""
    if form in ("lowerLetter", "upperLetter") and value > 0:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter if form == "lowerLetter" else letter.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < value < 4000:
        text = ""
        for amount, digits in _ROMAN.items():
            text += digits * (value // amount)
            value %= amount
        return text if form == "lowerRoman" else text.upper()
    if form in _CHINESE_FORMATS and 0 < value < 100:
        tens, ones = divmod(value, 10)
        if form == "ideographDigital":
            return "".join(_CHINESE_DIGITS[int(digit)] for digit in str(value))
        return ("" if tens == 0 else "十" if tens == 1 else _CHINESE_DIGITS[tens] + "十") + (
            _CHINESE_DIGITS[ones] if ones else ""
        )
    if form == "decimalZero":
        return f"{value:02d}"
    return "" if form in _BULLETS else str(value)


_ROMAN_AMOUNTS = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN_DIGITS = ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i")
_ROMAN = dict(zip(_ROMAN_AMOUNTS, _ROMAN_DIGITS, strict=True))


def symbol(element: Any) -> str:
    """The character of a `w:sym`, a place in a symbol font; one whose meaning is not known is taken for a bullet."""
    font = (attribute(element, "font") or "").lower()
    try:
        code = int(attribute(element, "char") or "", 16)
    except ValueError:
        return ""
    low = code & 0xFF if 0xF000 <= code <= 0xF0FF else code
    if "wingdings" in font or "webdings" in font:
        return _WINGDINGS.get(low, "•")
    if "symbol" in font:
        return _SYMBOL_OTHERS.get(low) or _SYMBOL_GREEK.get(chr(low)) or (chr(low) if low < 0x80 else "•")
    return chr(low) if low >= 0x20 and not 0xD800 <= low <= 0xDFFF and low < 0x110000 else ""


def read_styles(package: GuardedZip, part: str | None) -> dict[str, Style]:
    """Paragraph styles by their ids."""
    root = read_xml(package, part) if part else None
    styles: dict[str, Style] = {}
    for element in root if root is not None else ():
        key = attribute(element, "styleId") if local(element.tag) == "style" else None
        if not key or attribute(element, "type") not in (None, "paragraph"):
            continue
        style = Style(key)
        for child in element:
            name = local(child.tag)
            if name == "name":
                style.name = attribute(child, "val") or key
            elif name == "basedOn":
                style.based_on = attribute(child, "val")
            elif name == "pPr":
                for setting in child:
                    if local(setting.tag) == "outlineLvl":
                        style.outline = as_int(attribute(setting, "val"))
                    elif local(setting.tag) == "numPr":
                        style.number, style.number_level = number_of(setting)
        styles[key] = style
    return styles


def heading_level(styles: dict[str, Style], key: str | None) -> int | None:
    """Heading level (1 to 9) that a style gives, by its name or outline level, inherited; None for body text."""
    for style in _ancestry(styles, key):
        match = _HEADING_NAME.fullmatch(style.name.strip())
        if match:
            return int(match.group(1))
        if style.name.strip().lower() == "title":
            return 1
        if style.outline is not None:
            return style.outline + 1 if 0 <= style.outline < 9 else None
    match = _HEADING_NAME.fullmatch(key or "") if key not in styles else None
    return int(match.group(1)) if match else None


def is_title(styles: dict[str, Style], key: str | None) -> bool:
    """True for the style of a document's title."""
    return any(style.name.strip().lower() == "title" for style in _ancestry(styles, key)) or (key or "") == "Title"


def style_number(styles: dict[str, Style], key: str | None) -> tuple[str | None, int | None]:
    """List and level that a style gives, inherited."""
    number, level = None, None
    for style in _ancestry(styles, key):
        number = style.number if number is None else number
        level = style.number_level if level is None else level
    return number, level


def is_list_style(styles: dict[str, Style], key: str | None) -> bool:
    """True for Word's own list styles, which some writers use without a numbering."""
    return any(style.name.lower().startswith(("list bullet", "list number")) for style in _ancestry(styles, key))


def _ancestry(styles: dict[str, Style], key: str | None) -> list[Style]:
    found: list[Style] = []
    while key in styles and len(found) < 20:  # a style based on itself ends here
        found.append(styles[key])
        key = styles[key].based_on
    return found


def read_numbering(package: GuardedZip, part: str | None) -> Numbering:
    """The lists of a document."""
    numbering = Numbering()
    root = read_xml(package, part) if part else None
    abstract: dict[str, dict[int, _Level]] = {}
    for element in root if root is not None else ():
        name = local(element.tag)
        if name == "abstractNum":
            abstract[attribute(element, "abstractNumId") or ""] = _levels(element)
        elif name == "num":
            key = attribute(element, "numId") or ""
            for child in element:
                if local(child.tag) == "abstractNumId":
                    of = attribute(child, "val") or ""
                    numbering.lists[key] = of
                    numbering.levels[key] = dict(abstract.get(of, {}))
                elif local(child.tag) == "lvlOverride":
                    level = as_int(attribute(child, "ilvl")) or 0
                    for part_of in child:
                        if local(part_of.tag) == "startOverride":
                            numbering.overrides[key, level] = as_int(attribute(part_of, "val")) or 1
                    numbering.levels.setdefault(key, {}).update(_levels(child))
    return numbering


def _levels(element: Any) -> dict[int, _Level]:
    levels: dict[int, _Level] = {}
    for child in element:
        if local(child.tag) != "lvl":
            continue
        level = _Level()
        for setting in child:
            name, value = local(setting.tag), attribute(setting, "val")
            if name == "numFmt":
                level.form = value or "decimal"
            elif name == "lvlText":
                level.pattern = value or ""
            elif name == "lvlRestart":
                level.restart = as_int(value)
            elif name == "start":
                start = as_int(value)
                level.start = 1 if start is None else start
        levels[as_int(attribute(child, "ilvl")) or 0] = level
    return levels


def number_of(element: Any) -> tuple[str | None, int | None]:
    """List id and level of a `w:numPr`."""
    number, level = None, None
    for child in element:
        if local(child.tag) == "numId":
            number = attribute(child, "val")
        elif local(child.tag) == "ilvl":
            level = as_int(attribute(child, "val"))
    return number, level


def as_int(text: str | None) -> int | None:
    """A whole number, or None for anything else."""
    try:
        return int(text or "")
    except ValueError:
        return None
