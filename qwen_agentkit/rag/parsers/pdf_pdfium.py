"""PDF pages read with pdfium: fast, and right about rotation, right-to-left scripts and unmapped glyphs."""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile, PasswordRequired
from qwen_agentkit.rag.parsers.pdf_drawing import read_objects
from qwen_agentkit.rag.parsers.pdf_notes import read_notes
from qwen_agentkit.rag.parsers.pdf_page import PageContent, Shown, Word

# pdfium keeps global state without locks; one thread at a time.
LOCK = threading.RLock()

# U+FFFE is what pdfium writes for a hyphen at the end of a line.
_LINE_END_HYPHEN = "\ufffe"
_WORD = re.compile(r"[^\s\ufffe\x00]+\ufffe?|\ufffe")
_MONO = re.compile(r"courier|mono|consol|typewriter|^(\w+\+)?cmtt|menlo|sourcecode|inconsolata", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|demi|-medi|cmbx|sfbx|[-,]bd\b", re.IGNORECASE)


_ERROR_PASSWORD = 4
# Bit of the font descriptor flags, ISO 32000-1 table 123.
_FIXED_PITCH = 1
# Direction of text that stands in no quarter turn.
_SLANTING = 9


def open_document(source: Path | bytes, password: str | None) -> Any:
    """Opens a PDF; the empty password is tried first, so permissions alone keep nobody out.

    Args:
        source: The file, or its bytes.
        password: For a file that needs one.

    Returns:
        A `pypdfium2.PdfDocument`.

    Raises:
        PasswordRequired: Neither the empty password nor the given one opens it.
        DamagedFile: pdfium finds no PDF in it.
    """
    import pypdfium2

    problem: Any = None
    for attempt in [None, password] if password else [None]:
        try:
            return pypdfium2.PdfDocument(source, password=attempt)
        except pypdfium2.PdfiumError as error:
            problem = error
            if getattr(error, "err_code", None) != _ERROR_PASSWORD:
                break
    if getattr(problem, "err_code", None) == _ERROR_PASSWORD:
        given = "the given password does not open it" if password else "it needs a password"
        raise PasswordRequired(exception=problem, message=f"the PDF is encrypted: {given}")
    raise DamagedFile(exception=problem, message=f"not a readable PDF ({problem})")


def read_page(document: Any, index: int) -> PageContent:
    """Everything on one page.

    Args:
        document: From `open_document`.
        index: 0-based page index.

    Raises:
        pypdfium2.PdfiumError: The page cannot be loaded.
    """
    page = document[index]
    try:
        width, height = page.get_size()
        content = PageContent(index + 1, width, height)
        text_page = page.get_textpage()
        try:
            to_shown = _read_words(text_page.raw, content, page.get_bbox(), page.get_rotation())
        finally:
            text_page.close()
        read_objects(page, content, to_shown)
        content.notes = read_notes(page)
        return content
    finally:
        page.close()


def _read_words(text_page: Any, content: PageContent, box: tuple[float, float, float, float], rotation: int) -> Shown:
    """Adds the words and says how the page is to be turned so that most of them stand upright."""
    text = _page_text(text_page)
    found = list(_raw_words(text_page, text, content)) if text else []
    directions: Counter[int] = Counter()
    for word, _, quarter, _ in found:
        directions[quarter] += len(word.text)
    # Text that lies on its side on most of the page was meant to be read with the page turned.
    if directions and directions.most_common(1)[0][0] != (-rotation // 90) % 4:
        main, weight = directions.most_common(1)[0]
        if main != _SLANTING and weight > 0.8 * directions.total():
            if (90 * main + rotation) % 180:
                content.width, content.height = content.height, content.width
            rotation = -90 * main
    to_shown = Shown(box, rotation)
    upright = (-rotation // 90) % 4
    aside: list[str] = []
    for word, raw_box, quarter, new_line in found:
        if quarter != upright:
            aside.append("\n" if new_line else " ")
            aside.append(word.text)
            continue
        word.x0, word.y0, word.x1, word.y1 = to_shown.box(*raw_box)
        # Text matrices may scale the font; what is seen is the height of the box.
        height = word.y1 - word.y0
        if word.size <= 1.5 or height > 2.2 * word.size:
            word.size = max(height * 0.85, 1.0)
        content.words.append(word)
    content.aside = [line.strip() for line in "".join(aside).split("\n") if line.strip()]
    return to_shown


def _page_text(text_page: Any) -> str:
    """The text of the page, one character for each that pdfium counts."""
    import pypdfium2.raw as raw

    count = raw.FPDFText_CountChars(text_page)
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (2 * count + 2))()
    written = raw.FPDFText_GetText(text_page, 0, count, buffer)
    text = bytes(buffer)[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    if len(text) != count:
        # pdfium leaves characters out of the text that it counts; one by one they keep their places.
        text = "".join(_character(raw.FPDFText_GetUnicode(text_page, index)) for index in range(count))
    return text


_RawWord = tuple[Word, tuple[float, float, float, float], int, bool]


def _raw_words(text_page: Any, text: str, content: PageContent) -> Iterator[_RawWord]:
    """Words with their boxes as pdfium has them, their direction in quarter turns, and whether a line begins."""
    import pypdfium2.raw as raw

    rect = raw.FS_RECTF()
    name_buffer = ctypes.create_string_buffer(256)
    flags = ctypes.c_int()
    has_map_error, loose_box = raw.FPDFText_HasUnicodeMapError, raw.FPDFText_GetLooseCharBox
    font_size, char_angle, font_info = raw.FPDFText_GetFontSize, raw.FPDFText_GetCharAngle, raw.FPDFText_GetFontInfo
    fonts: dict[tuple[bytes, int], tuple[bool, bool]] = {}
    previous_end = -1
    bold = mono = False
    size = height = right = 0.0
    quarter = 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        new_line = previous_end < 0 or "\n" in text[previous_end:start]
        previous_end = end
        word = match.group()
        hyphen = word.endswith(_LINE_END_HYPHEN)
        last = end - 2 if hyphen and end - start > 1 else end - 1
        # The end of a word is looked at too, unless it is a plain letter: mixed words end in signs of another font.
        ends_plainly = last == start or (text[last].isascii() and text[last].isalnum())
        if has_map_error(text_page, start) == 1 or (not ends_plainly and has_map_error(text_page, last) == 1):
            kept = [word[at - start] for at in range(start, end) if has_map_error(text_page, at) != 1]
            content.unmapped += end - start - len(kept)
            word = "".join(kept)
            if not word.strip(_LINE_END_HYPHEN):
                continue
        if hyphen:
            word = word.replace(_LINE_END_HYPHEN, "-")
        if not loose_box(text_page, start, rect):
            continue
        x0, y0, x1, y1 = rect.left, rect.bottom, rect.right, rect.top
        # Each question to pdfium takes a microsecond: size and direction are asked again when the height changes, the
        # font at the start of a line or column and while it is a special one.
        changed = new_line or abs(y1 - y0 - height) > 0.01
        if changed:
            size, height = font_size(text_page, start), y1 - y0
            quarter = _quarter(char_angle(text_page, start))
        if changed or bold or mono or not -size < x0 - right < size:
            length = font_info(text_page, start, name_buffer, 256, ctypes.byref(flags))
            font = (name_buffer.value if 1 < length <= 256 else b"", flags.value)
            if font not in fonts:
                name = font[0].decode("utf-8", "replace")
                fonts[font] = is_bold_font(name), bool(flags.value & _FIXED_PITCH) or is_mono_font(name)
            bold, mono = fonts[font]
        if last > start and loose_box(text_page, last, rect):
            if quarter in (0, 2) and min(y1, rect.top) - max(y0, rect.bottom) < 0.2 * (y1 - y0):
                # Single letters one under the other, as in a narrow column, come without a break between.
                yield from _letters_below(text_page, text, start, last, bold, mono, quarter)
                continue
            x0, y0 = min(x0, rect.left), min(y0, rect.bottom)
            x1, y1 = max(x1, rect.right), max(y1, rect.top)
        right = x1
        yield Word(word, x0, y0, x1, y1, size, bold, mono), (x0, y0, x1, y1), quarter, new_line


def _letters_below(
    text_page: Any, text: str, start: int, last: int, bold: bool, mono: bool, quarter: int
) -> Iterator[_RawWord]:
    """The characters from `start` to `last`, parted where one is not on the line of the one before."""
    import pypdfium2.raw as raw

    rect = raw.FS_RECTF()
    word: Word | None = None
    for index in range(start, last + 1):
        if raw.FPDFText_HasUnicodeMapError(text_page, index) == 1:
            continue
        if not raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(rect)):
            continue
        x0, y0, x1, y1 = rect.left, rect.bottom, rect.right, rect.top
        if word is not None and min(word.y1, y1) - max(word.y0, y0) > 0.5 * (y1 - y0):
            word.text += text[index]
            word.x0, word.y0, word.x1, word.y1 = min(word.x0, x0), min(word.y0, y0), max(word.x1, x1), max(word.y1, y1)
            continue
        if word is not None:
            yield word, (word.x0, word.y0, word.x1, word.y1), quarter, True
        word = Word(text[index], x0, y0, x1, y1, raw.FPDFText_GetFontSize(text_page, index), bold, mono)
    if word is not None:
        yield word, (word.x0, word.y0, word.x1, word.y1), quarter, True


def _quarter(radians: float) -> int:
    """An angle in quarter turns, or `_SLANTING`."""
    turned = math.degrees(radians) / 90 % 4
    nearest = round(turned)
    return nearest % 4 if abs(turned - nearest) < 0.09 else _SLANTING


def is_bold_font(name: str) -> bool:
    """The font's name says that it is bold."""
    return _BOLD.search(name) is not None


def is_mono_font(name: str) -> bool:
    """The font's name says that it is a typewriter font."""
    return _MONO.search(name) is not None


def _character(code: int) -> str:
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code <= 0xDFFF else "\x00"
