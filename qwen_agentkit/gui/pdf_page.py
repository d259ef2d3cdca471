"""A picture of a PDF page with the words of a quote marked."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit.rag.parsers.pdf_pdfium import LOCK, open_document
from qwen_agentkit.utils.text.quotes import find_quote

# Pixels of the longer side at most: sharp on a doubled screen, and a small file.
_MOST_PIXELS = 1_800
_SCALE = 2.0
_MARK = (255, 228, 90)
# A quote runs over few pages.
_MOST_PAGES = 5

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class QuotedPages:
    """Where a quote stands in a PDF.

    Args:
        page_count: Pages of the file.
        first: 1-based page to show first: where the quote begins, else the page asked for.
        spans: Page -> (start, count) in characters of the page as pdfium counts them.
        size: Width and height of the first page in points.
        top: How far down the first page the quote begins, from 0.0 to 1.0; None when it was not found.
    """

    page_count: int
    first: int
    spans: dict[int, tuple[int, int]]
    size: tuple[float, float]
    top: float | None


def locate(path: Path, page: int, page_end: int | None, quote: str) -> QuotedPages:
    """Finds a quote on the pages where a citation says it is.

    Args:
        path: The PDF.
        page: 1-based.
        page_end: The last page, None for the same.
        quote: Its text; spaces and line breaks may differ.

    Raises:
        DocParserError: It is no PDF that can be opened.
        ValueError: It has no such page.
    """
    with _opened(path) as document:
        _check(document, page)
        last = min(max(page, page_end or page), page + _MOST_PAGES - 1, len(document))
        spans = _spans(document, page, last, quote)
        first = min(spans, default=page)
        shown = document[first - 1]
        boxes = _boxes(shown, *spans[first]) if first in spans else []
        top = min((box[1] for box in boxes), default=None)
        return QuotedPages(len(document), first, spans, shown.get_size(), top)


def picture(path: Path, page: int, span: tuple[int, int] | None = None) -> bytes:
    """The page as a PNG, the characters of `span` marked.

    Args:
        path: The PDF.
        page: 1-based.
        span: (start, count) from `locate`.

    Raises:
        DocParserError: It is no PDF that can be opened.
        ValueError: It has no such page.
    """
    from PIL import Image, ImageChops, ImageDraw

    with _opened(path) as document:
        _check(document, page)
        shown = document[page - 1]
        scale = min(_SCALE, _MOST_PIXELS / max(*shown.get_size(), 1.0))
        # The bitmap's memory is pdfium's: copied while the document is open.
        image = shown.render(scale=scale).to_pil().convert("RGB").copy()
        boxes = _boxes(shown, *span) if span else []
    if boxes:
        marks = Image.new("RGB", image.size, (255, 255, 255))
        pen = ImageDraw.Draw(marks)
        for left, top, right, bottom in boxes:
            pen.rectangle(
                (left * image.width - 2, top * image.height - 2, right * image.width + 2, bottom * image.height + 2),
                fill=_MARK,
            )
        # Multiplied, as a highlighter does: what is dark stays dark.
        image = ImageChops.multiply(image, marks)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with LOCK:
        document = open_document(path, None)
        try:
            yield document
        finally:
            document.close()


def _check(document: Any, page: int) -> None:
    if not 1 <= page <= len(document):
        raise ValueError(f"The document has pages 1 to {len(document)}; there is no page {page}")


def _spans(document: Any, first: int, last: int, quote: str) -> dict[int, tuple[int, int]]:
    texts = [_text_of(document[number - 1]) for number in range(first, last + 1)]
    match = find_quote(quote, "\n".join(texts)) if quote.strip() else None
    if match is None:
        return {}
    spans, place = {}, 0
    for number, text in enumerate(texts, first):
        start, end = max(match.start - place, 0), min(match.end - place, len(text))
        if start < end:
            spans[number] = (start, end - start)
        place += len(text) + 1
    return spans


def _text_of(page: Any) -> str:
    """The page's text, one character for each that pdfium counts, so that places in it are pdfium's own."""
    import pypdfium2.raw as raw

    text_page = page.get_textpage()
    try:
        codes = [raw.FPDFText_GetUnicode(text_page.raw, at) for at in range(text_page.count_chars())]
    finally:
        text_page.close()
    # pdfium counts in UTF-16: a surrogate, like a hyphen at a line's end, is a place without a letter.
    return "".join(chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0xFFFE else " " for code in codes)


def _boxes(page: Any, start: int, count: int) -> list[Box]:
    """Boxes of the lines of a span as shares of the picture: left, top, right, bottom."""
    import ctypes

    import pypdfium2.raw as raw

    grid = 100_000
    text_page = page.get_textpage()
    boxes = []
    try:
        for number in range(text_page.count_rects(start, count)):
            left, bottom, right, top = text_page.get_rect(number)
            corners = []
            for x, y in ((left, top), (right, bottom)):
                across, down = ctypes.c_int(), ctypes.c_int()
                # It knows the page's rotation and its visible box.
                raw.FPDF_PageToDevice(page.raw, 0, 0, grid, grid, 0, x, y, ctypes.byref(across), ctypes.byref(down))
                corners.append((across.value / grid, down.value / grid))
            (x0, y0), (x1, y1) = corners
            boxes.append((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
    finally:
        text_page.close()
    return boxes
