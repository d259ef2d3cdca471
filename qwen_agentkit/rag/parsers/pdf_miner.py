"""PDF pages read with pdfminer.six: right about the predefined character maps of Chinese, Japanese and Korean fonts.

No layout analysis of pdfminer's is run (it is quadratic on dense pages); figures are entered and each character is
taken once, which its own `all_texts` does not do.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.rag.parsers.pdf_drawing import MAX_RULES, THIN, add_line, add_thin_box
from qwen_agentkit.rag.parsers.pdf_page import PageContent, Word
from qwen_agentkit.rag.parsers.pdf_pdfium import is_bold_font, is_mono_font

# pdfminer writes this for a glyph without a known meaning.
_UNMAPPED = "(cid:"
_CJK_COLLECTIONS = ("Japan", "GB", "CNS", "Korea", "KR")
_PLAIN_ENCODINGS = ("Identity", "WinAnsi", "MacRoman", "MacExpert", "Standard", "PDFDoc")
MAX_DEPTH = 12


class MinerReader:
    """A PDF opened with pdfminer, pages read one by one.

    Args:
        data: The bytes of the file.
        password: Tried after the empty one.

    Raises:
        Exception: pdfminer's own, of many kinds, when it cannot open the file.
    """

    def __init__(self, data: bytes, password: str | None) -> None:
        from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
        from pdfminer.pdfinterp import PDFResourceManager
        from pdfminer.pdfpage import PDFPage
        from pdfminer.pdfparser import PDFParser

        log = logging.getLogger("pdfminer")
        if log.level == logging.NOTSET:  # a warning for each glyph says nothing to a reader
            log.setLevel(logging.ERROR)
        parser = PDFParser(io.BytesIO(data))
        try:
            document = PDFDocument(parser, password="")
        except PDFPasswordIncorrect:
            if not password:
                raise
            parser = PDFParser(io.BytesIO(data))
            document = PDFDocument(parser, password=password)
        self._pages: list[Any] = list(PDFPage.create_pages(document))
        self._resources = PDFResourceManager(caching=True)

    @property
    def page_count(self) -> int:
        """Pages that pdfminer finds; a broken one is not counted, so that later indexes mean other pages."""
        return len(self._pages)

    def cjk_fonts(self, index: int) -> frozenset[str]:
        """Fonts of the page that map codes by a predefined CJK character map, or name a CJK collection.

        Args:
            index: 0-based page index.

        Returns:
            Names that tell the fonts of one file apart; empty when there is none.
        """
        from pdfminer.pdftypes import dict_value, list_value, resolve1

        fonts = dict_value(dict_value(resolve1(self._pages[index].resources) or {}).get("Font") or {})
        found: set[str] = set()
        for name, reference in fonts.items():
            font = resolve1(reference)
            if not isinstance(font, dict) or getattr(font.get("Subtype"), "name", "") != "Type0":
                continue
            encoding = getattr(resolve1(font.get("Encoding")), "name", "")
            if isinstance(encoding, str) and encoding and not encoding.startswith(_PLAIN_ENCODINGS):
                found.add(f"{getattr(reference, 'objid', name)}")
                continue
            for descendant in list_value(font.get("DescendantFonts") or []):
                info = dict_value(dict_value(descendant).get("CIDSystemInfo") or {})
                ordering = resolve1(info.get("Ordering")) or b""
                collection = ordering.decode("latin-1") if isinstance(ordering, bytes) else str(ordering)
                if collection.startswith(_CJK_COLLECTIONS) and "ToUnicode" not in font:
                    found.add(f"{getattr(reference, 'objid', name)}")
        return frozenset(found)

    def read(self, index: int) -> PageContent:
        """Everything on one page.

        Args:
            index: 0-based page index.

        Raises:
            Exception: pdfminer's own, of many kinds.
        """
        from pdfminer.layout import LTChar, LTCurve, LTImage, LTLine, LTRect
        from pdfminer.pdfinterp import PDFPageInterpreter

        device = _device(self._resources)
        PDFPageInterpreter(self._resources, device).process_page(self._pages[index])
        layout = device.get_result()
        left, top = layout.x0, layout.y1
        content = PageContent(index + 1, layout.width, layout.height)
        characters: list[Any] = []
        for item in _leaves(layout, 0):
            if isinstance(item, LTChar):
                content.text_objects += 1
                characters.append(item)
            elif isinstance(item, LTImage):
                content.pictures += 1
            elif isinstance(item, LTLine | LTRect | LTCurve) and _rule_count(content) < MAX_RULES:
                _add_rule(content, item, left, top, isinstance(item, LTRect))
        if _rule_count(content) >= MAX_RULES:  # a drawing, not a table
            content.level_rules.clear()
            content.upright_rules.clear()
        content.vertical = device.vertical_characters * 2 > len(characters) > 0
        _add_words(content, characters, left, top)
        return content


def _device(resources: Any) -> Any:
    from pdfminer.converter import PDFPageAggregator

    class Device(PDFPageAggregator):
        """Counts what is written from top to bottom, which the characters themselves do not tell."""

        vertical_characters = 0

        def render_char(self, matrix: Any, font: Any, *args: Any, **kwargs: Any) -> float:
            if font.is_vertical():
                self.vertical_characters += 1
            return super().render_char(matrix, font, *args, **kwargs)

    return Device(resources, laparams=None)


def _leaves(item: Any, depth: int) -> Iterator[Any]:
    from pdfminer.layout import LTContainer

    for child in item:
        if isinstance(child, LTContainer):
            if depth < MAX_DEPTH:
                yield from _leaves(child, depth + 1)
        else:
            yield child


def _rule_count(content: PageContent) -> int:
    return len(content.level_rules) + len(content.upright_rules)


def _add_rule(content: PageContent, item: Any, left: float, top: float, is_box: bool) -> None:
    x0, y0, x1, y1 = item.x0 - left, top - item.y1, item.x1 - left, top - item.y0
    if min(x1 - x0, y1 - y0) <= THIN:
        add_thin_box(content, x0, y0, x1, y1)
    elif is_box:
        add_line(content, x0, y0, x1, y0)
        add_line(content, x0, y1, x1, y1)
        add_line(content, x0, y0, x0, y1)
        add_line(content, x1, y0, x1, y1)


def _add_words(content: PageContent, characters: list[Any], left: float, top: float) -> None:
    """Characters in the order they are drawn, joined to words where they touch."""
    seen: set[tuple[str, int, int]] = set()
    word: Word | None = None
    aside: list[str] = []
    for item in characters:
        text = item.get_text()
        if text.startswith(_UNMAPPED):
            content.unmapped += 1
            word = None
            continue
        # A shadow or an emboldening is the same character drawn again a hair beside.
        place = (text, round(item.x0), round(item.y0))
        if place in seen and text.strip():
            continue
        seen.add(place)
        if not text.strip():
            word = None
            continue
        a, b, _c, _d, _e, _f = item.matrix
        if not content.vertical and not (a > 0 and abs(b) <= 0.15 * a):
            aside.append(text)
            word = None
            continue
        x0, y0, x1, y1 = item.x0 - left, top - item.y1, item.x1 - left, top - item.y0
        size = item.size
        if word is not None and _continues(word, x0, y0, x1, y1, size, content.vertical):
            word.text += text
            word.x0, word.y0 = min(word.x0, x0), min(word.y0, y0)
            word.x1, word.y1 = max(word.x1, x1), max(word.y1, y1)
            continue
        name = item.fontname or ""
        word = Word(text, x0, y0, x1, y1, size, is_bold_font(name), is_mono_font(name))
        content.words.append(word)
    if aside:
        content.aside = ["".join(aside)]
    if content.vertical:
        # Columns from right to left, each from top to bottom.
        content.words.sort(key=lambda item: (-round((item.x0 + item.x1) / 2 / max(item.size, 1)), item.y0))


def _continues(word: Word, x0: float, y0: float, x1: float, y1: float, size: float, vertical: bool) -> bool:
    if abs(size - word.size) > 0.35 * max(size, word.size):
        return False
    if vertical:
        return abs(x0 - word.x0) < 0.5 * size and -0.5 * size < y0 - word.y1 < 0.5 * size
    overlap = min(word.y1, y1) - max(word.y0, y0)
    return overlap > 0.5 * min(y1 - y0, word.y1 - word.y0) and -0.4 * size < x0 - word.x1 < 0.17 * size
