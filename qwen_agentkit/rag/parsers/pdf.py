"""PDF files: which engine reads which page, and what is said about pages that cannot be read.

pdfium reads every page first; it takes 3 to 5 ms a page, words with their places and ruling lines included, so that
columns and tables come from its own output by the layout of this package. pdfminer.six (20 times slower) reads a page
again where pdfium is known to be weak: predefined CJK character maps, and pages that yield few characters for what
they draw. The better reading is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from qwen_agentkit.errors import DamagedFile, DocParserError, MissingDependencyError
from qwen_agentkit.log import logger
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import NOTE, TEXT, DocumentImage
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.ocr import OCR_NEEDED
from qwen_agentkit.rag.parsers import pdf_pdfium
from qwen_agentkit.rag.parsers.pdf_blocks import add_page, normal_title, style_of
from qwen_agentkit.rag.parsers.pdf_drawing import page_images, render_png
from qwen_agentkit.rag.parsers.pdf_lines import TableBox
from qwen_agentkit.rag.parsers.pdf_page import PageContent
from qwen_agentkit.rag.parsers.pdf_running import RunningLines

# Pages that are looked at for type sizes and running lines before the first is written.
SAMPLE_PAGES = 24
# In longer documents pdfminer reads no page for a doubt alone.
DOUBT_PAGES = 200
MAX_OUTLINE = 5_000
# A page that draws this much and has no text may have its letters as outlines.
MIN_DRAWINGS = 50
# The share of characters that one engine must find of the other's to be the better one.
SHARE = 0.8
# CJK characters on a page that say enough about its fonts.
MIN_AGREEMENT = 40
# Metadata titles that say nothing.
_NO_TITLES = ("untitled", "microsoft word", "microsoft powerpoint", "powerpoint presentation", "document1", "slide 1")


def parse(path: Path, out: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a PDF; see `qwen_agentkit.rag.parsers`."""
    with pdf_pdfium.LOCK:
        document, data = _open(path, out, options)
        try:
            _Reading(document, data, out, options).run()
        finally:
            document.close()


def _open(path: Path, out: DocumentBuilder, options: ReadOptions) -> tuple[Any, bytes]:
    """The document and the bytes it was opened from, mended when they could not be opened as they are."""
    data = path.read_bytes()
    try:
        return pdf_pdfium.open_document(data, options.password), data
    except DamagedFile:
        from qwen_agentkit.rag.parsers.pdf_repair import rebuild

        mended = rebuild(data, options.limits)
        if mended is None:
            raise
        document = pdf_pdfium.open_document(mended, options.password)
        out.warn("the PDF is damaged or cut off; what could be recovered was read")
        return document, mended


class _Reading:
    """One PDF while it is read: its engines, its style and the pages that need a word."""

    def __init__(self, document: Any, data: bytes, out: DocumentBuilder, options: ReadOptions) -> None:
        self.document, self.data, self.out, self.options = document, data, out, options
        self.page_count = len(document)
        self._miner: Any = None
        self._miner_problem: str | None = None
        self._textless: list[int] = []
        self._unmapped: dict[int, tuple[int, int]] = {}
        self._failed: list[int] = []
        self._plumber: Any = self._open_plumber() if options.tables == "pdfplumber" else None
        # CJK fonts for which both engines were seen to find the same characters.
        self._agreed_fonts: set[str] = set()

    def run(self) -> None:
        """Reads all pages within the limits."""
        out = self.out
        out.page_count = self.page_count
        out.title = _title(self.document)
        count = min(self.page_count, self.options.limits.pages)
        try:
            self._read_pages(count)
        finally:
            if self._plumber is not None:
                self._plumber.close()
            self._warn()
        if count < self.page_count:
            out.warn(f"only the first {count:,} of {self.page_count:,} pages were read (limit on pages)")

    def _read_pages(self, count: int) -> None:
        step = max(1, -(-count // SAMPLE_PAGES))
        sample = {index: content for index in range(0, count, step) if (content := self._content(index)) is not None}
        style = style_of(sample.values(), _outline(self.document))
        running = RunningLines(sample.values())
        for index in range(count):
            content = sample.pop(index, None) if index % step == 0 else self._content(index)
            if content is not None:
                self._add(content, style, running)
            self.out.progress(index + 1, count)

    def _add(self, content: PageContent, style: Any, running: Callable[[str], bool | None]) -> None:
        found = content.characters()
        if content.unmapped:
            self._unmapped[content.number] = (content.unmapped, found + content.unmapped)
        shows_something = content.pictures > 0 or content.drawings >= MIN_DRAWINGS
        needs_ocr = (not found and shows_something) or content.unmapped > found
        if needs_ocr and self._read_by_ocr(content):
            return
        if not found and not content.unmapped and shows_something:
            self._textless.append(content.number)
        add_page(content, style, self.out.add, running, self._take_tables(content))
        if self.options.keep_images and content.pictures:
            _keep_images(self.document, content.number - 1, self.out)

    def _read_by_ocr(self, content: PageContent) -> bool:
        if not self.options.ocr:
            return False
        from qwen_agentkit.rag.ocr import recognise

        text = recognise(render_png(self.document, content.number - 1), self.options.ocr)
        if not text.strip():
            return False
        self._unmapped.pop(content.number, None)
        self.out.add(TEXT, text, page=content.number)
        for note in content.notes:
            self.out.add(NOTE, note, page=content.number)
        self.out.warn(f"page {content.number} was read by OCR")
        return True

    # --- which engine

    def _content(self, index: int) -> PageContent | None:
        plain = self._by_pdfium(index)
        engine = self.options.engine
        if engine == "pdfium" or (engine == "auto" and plain is not None and not self._asks_for_miner(plain, index)):
            if plain is None:
                self._failed.append(index + 1)
            return plain
        mined = self._by_miner(index)
        if engine == "auto" and plain is not None and mined is not None:
            self._note_agreement(plain, mined, index)
        chosen = _better(plain, mined, prefer_mined=engine == "pdfminer")
        if chosen is None:
            self._failed.append(index + 1)
        elif chosen is mined and plain is not None:
            chosen.notes = plain.notes
            chosen.pictures = max(chosen.pictures, plain.pictures)
            chosen.drawings = plain.drawings
        return chosen

    def _asks_for_miner(self, plain: PageContent, index: int) -> bool:
        if plain.is_right_to_left():
            return False
        found = plain.characters()
        low_yield = plain.text_objects > 4 and found < plain.text_objects
        if (low_yield or plain.unmapped * 4 > found) and self.page_count <= DOUBT_PAGES:
            return True
        if not (low_yield or plain.unmapped or plain.cjk_characters()):
            return False
        return not self._cjk_fonts(index) <= self._agreed_fonts

    def _cjk_fonts(self, index: int) -> frozenset[str]:
        miner = self._open_miner()
        if miner is None:
            return frozenset()
        try:
            return miner.cjk_fonts(index)
        except Exception as error:  # pdfminer raises what its parsing trips over, of any kind
            logger.debug("pdfminer cannot tell the fonts of page %d of %s: %r", index + 1, self.out.source, error)
            return frozenset()

    def _note_agreement(self, plain: PageContent, mined: PageContent, index: int) -> None:
        """Where pdfium finds all that pdfminer finds, it is trusted with the same fonts on later pages."""
        enough = mined.cjk_characters() >= MIN_AGREEMENT
        if enough and not plain.unmapped and plain.cjk_characters() >= 0.99 * mined.cjk_characters():
            self._agreed_fonts |= self._cjk_fonts(index)

    def _by_pdfium(self, index: int) -> PageContent | None:
        import pypdfium2

        try:
            return pdf_pdfium.read_page(self.document, index)
        except (pypdfium2.PdfiumError, OSError, ValueError) as error:
            logger.debug("pdfium cannot read page %d of %s: %r", index + 1, self.out.source, error)
            return None

    def _by_miner(self, index: int) -> PageContent | None:
        miner = self._open_miner()
        if miner is None:
            return None
        try:
            return miner.read(index)
        except Exception as error:  # see _asks_for_miner
            logger.debug("pdfminer cannot read page %d of %s: %r", index + 1, self.out.source, error)
            if self.options.engine == "pdfminer":
                self.out.warn(f"page {index + 1}: pdfminer failed ({type(error).__name__}); pdfium's text was taken")
            return None

    def _open_miner(self) -> Any:
        if self._miner is None and self._miner_problem is None:
            from qwen_agentkit.rag.parsers.pdf_miner import MinerReader

            try:
                miner = MinerReader(self.data, self.options.password)
                if miner.page_count != self.page_count:
                    raise ValueError(f"pdfminer finds {miner.page_count} of {self.page_count} pages")
                self._miner = miner
            except Exception as error:  # see _asks_for_miner
                self._miner_problem = type(error).__name__
                logger.debug("pdfminer cannot open %s: %r", self.out.source, error)
                if self.options.engine == "pdfminer":
                    self.out.warn(f"pdfminer cannot open the file ({self._miner_problem}); pdfium's text was taken")
        return self._miner

    # --- hard tables

    def _open_plumber(self) -> Any:
        from qwen_agentkit.rag.parsers.pdf_plumber import PlumberReader

        try:
            plumber = PlumberReader(self.data, self.options.password)
            if plumber.page_count == self.page_count:
                return plumber
            plumber.close()
        except MissingDependencyError:
            raise
        except Exception as error:  # see _asks_for_miner
            logger.debug("pdfplumber cannot open %s: %r", self.out.source, error)
        self.out.warn("pdfplumber cannot open the file; its tables were read without it")
        return None

    def _take_tables(self, content: PageContent) -> list[TableBox] | None:
        """Tables that pdfplumber finds; None where it is not asked or finds none."""
        if self._plumber is None:
            return None
        try:
            return self._plumber.take_tables(content) or None
        except Exception as error:  # see _asks_for_miner
            logger.debug("pdfplumber fails on page %d of %s: %r", content.number, self.out.source, error)
            self.out.warn(f"page {content.number}: pdfplumber failed ({type(error).__name__})")
            return None

    # --- what is said

    def _warn(self) -> None:
        out = self.out
        if self._failed:
            out.warn(f"could not read {_pages(self._failed)}")
        if self._textless:
            out.warn(f"no text layer on {_pages(self._textless)}, {OCR_NEEDED}")
        if self._unmapped:
            lost = sum(lost for lost, _ in self._unmapped.values())
            total = sum(total for _, total in self._unmapped.values())
            where = _pages(sorted(self._unmapped))
            out.warn(f"{lost} of {total} characters on {where} cannot be mapped to text, {OCR_NEEDED}")
        if self.page_count and len(self._failed) == self.page_count and not out.blocks:
            raise DamagedFile(message=f"none of its {self.page_count} pages can be read")


def _better(plain: PageContent | None, mined: PageContent | None, prefer_mined: bool) -> PageContent | None:
    """The reading of the two that lost less."""
    if plain is None or mined is None:
        return mined or plain
    if plain.is_right_to_left() or mined.characters() < SHARE * plain.characters():
        return plain
    if prefer_mined:
        return mined if mined.unmapped <= plain.unmapped or not plain.characters() else plain
    if plain.cjk_characters() < SHARE * mined.cjk_characters():
        return mined
    return mined if plain.characters() < SHARE * mined.characters() else plain


def _title(document: Any) -> str | None:
    try:
        title = document.get_metadata_value("Title").strip()
    except (ValueError, UnicodeError, DocParserError) as error:
        logger.debug("the PDF's title cannot be read: %r", error)
        return None
    if len(title) < 3 or len(title) > 300 or title.lower().startswith(_NO_TITLES) or "\ufffd" in title:
        return None
    return title


def _outline(document: Any) -> dict[int, dict[str, int]]:
    """The document's own table of contents: page -> normalised title -> level."""
    import pypdfium2

    result: dict[int, dict[str, int]] = {}
    try:
        for number, mark in enumerate(document.get_toc(max_depth=6)):
            if number >= MAX_OUTLINE:
                break
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            title = normal_title(mark.get_title() or "")
            if index is not None and title:
                result.setdefault(index + 1, {})[title] = mark.level + 1
    except (pypdfium2.PdfiumError, ValueError, UnicodeError) as error:
        logger.debug("the PDF's outline cannot be read: %r", error)
    return result


def _keep_images(document: Any, index: int, out: DocumentBuilder) -> None:
    try:
        for media_type, data in page_images(document, index):
            out.add_image(DocumentImage(media_type, data, page=index + 1))
    except (OSError, ValueError, RuntimeError) as error:
        out.warn(f"pictures on page {index + 1} could not be taken out ({error})")


def _pages(numbers: Iterable[int]) -> str:
    """`page 4`, `pages 1-3, 7`."""
    numbers = sorted(set(numbers))
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    shown = ", ".join(words[:20]) + (", ..." if len(words) > 20 else "")
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"
