"""`DocumentBuilder`: what a parser writes into, so that what was read before a limit is never lost."""

from __future__ import annotations

from collections.abc import Callable

from qwen_agentkit.errors import LimitExceededInFile
from qwen_agentkit.rag.document import Block, Document, DocumentImage
from qwen_agentkit.rag.limits import ReadLimits

# One warning of a kind is news, the thousandth is noise.
MAX_WARNINGS = 200


class DocumentBuilder:
    """Collects the blocks of one document and holds the limits on text, cells and pictures.

    Args:
        source: Absolute path or address of the file.
        file_type: The kind found by sniffing.
        limits: Limits of this reading.
        on_block: Called with each block as it is added (a worker sends it home at once).
        on_progress: Called with (pages done, pages in all) by parsers that know them.
    """

    def __init__(
        self,
        source: str,
        file_type: str,
        limits: ReadLimits | None = None,
        on_block: Callable[[Block], None] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.source = source
        self.file_type = file_type
        self.limits = limits or ReadLimits()
        self.title: str | None = None
        self.page_count: int | None = None
        self.blocks: list[Block] = []
        self.warnings: list[str] = []
        self.images: list[DocumentImage] = []
        self._on_block = on_block
        self._on_progress = on_progress
        self._characters = 0
        self._cells = 0
        self._image_bytes = 0
        self._warnings_left_out = 0

    def add(
        self,
        kind: str,
        text: str,
        *,
        level: int | None = None,
        page: int | None = None,
        sheet: str | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        """Adds one block; a block without visible text is dropped.

        Raises:
            LimitExceededInFile: The text is now longer than allowed. The part that fits has been added.
        """
        text = _storable(text)
        if not text.strip():
            return
        room = self.limits.text_characters - self._characters
        over = len(text) > room
        if over:
            text = text[: max(room, 0)]
        if text.strip():
            block = Block(kind, text, level, page, sheet, rows)
            self._characters += len(text)
            self.blocks.append(block)
            if self._on_block is not None:
                self._on_block(block)
        if over:
            raise LimitExceededInFile(
                message=f"more than {self.limits.text_characters:,} characters of text; the rest was not read"
            )

    def count_cells(self, number: int) -> None:
        """Counts table cells of spreadsheets against the limit.

        Raises:
            LimitExceededInFile: More cells than allowed.
        """
        self._cells += number
        if self._cells > self.limits.cells:
            raise LimitExceededInFile(message=f"more than {self.limits.cells:,} cells; the rest was not read")

    def warn(self, message: str) -> None:
        """Notes what could not be read or is doubtful, one line. The same line is kept once."""
        message = " ".join(_storable(message).split())
        if not message or message in self.warnings:
            return
        if len(self.warnings) >= MAX_WARNINGS:
            self._warnings_left_out += 1
            return
        self.warnings.append(message)

    def add_image(self, image: DocumentImage) -> None:
        """Keeps a picture while there is room for it (`ReadLimits.image_bytes`), else warns once."""
        if self._image_bytes + len(image.data) > self.limits.image_bytes:
            self.warn(f"pictures beyond {self.limits.image_bytes:,} bytes were left out")
            return
        self._image_bytes += len(image.data)
        self.images.append(image)

    def progress(self, done: int, total: int) -> None:
        """Says how far the parser is, in pages, sheets or chapters."""
        if self._on_progress is not None:
            self._on_progress(done, total)

    def document(self, default_title: str) -> Document:
        """The document as read so far.

        Args:
            default_title: Its title when the file gives itself none.
        """
        warnings = list(self.warnings)
        if self._warnings_left_out:
            warnings.append(f"{self._warnings_left_out} further warnings were left out")
        title = " ".join(_storable(self.title or "").split())
        return Document(
            source=self.source,
            title=title or default_title,
            file_type=self.file_type,
            blocks=list(self.blocks),
            page_count=self.page_count,
            warnings=warnings,
            images=list(self.images),
        )


def _storable(text: str) -> str:
    """Text that can be written as UTF-8 and kept in a database.

    Pairs of surrogates are joined, lone halves become U+FFFD; the character NUL, which no reader sees, is dropped.
    """
    if "\x00" in text:
        text = text.replace("\x00", "")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
