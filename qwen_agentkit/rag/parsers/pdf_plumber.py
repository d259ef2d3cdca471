"""Hard tables of a PDF page found by pdfplumber (extra `tables`): slower, and with an eye for unusual rulings."""

from __future__ import annotations

import io
from typing import Any

from qwen_agentkit.rag.parsers.pdf_lines import TableBox
from qwen_agentkit.rag.parsers.pdf_page import PageContent
from qwen_agentkit.rag.parsers.pdf_tables import is_table
from qwen_agentkit.utils.optional import need

# A page with fewer lines and box sides has no table for pdfplumber to find.
MIN_RULES = 4


class PlumberReader:
    """A PDF opened with pdfplumber, asked for tables page by page.

    Args:
        data: The bytes of the file.
        password: Opens an encrypted one.

    Raises:
        MissingDependencyError: pdfplumber is not installed.
        Exception: pdfminer's own, of many kinds, when it cannot open the file.
    """

    def __init__(self, data: bytes, password: str | None) -> None:
        self._document: Any = need("pdfplumber", extra="tables").open(io.BytesIO(data), password=password or "")

    @property
    def page_count(self) -> int:
        """Pages that it finds."""
        return len(self._document.pages)

    def take_tables(self, content: PageContent) -> list[TableBox]:
        """Finds the tables of a page and takes their words out of `content.words`.

        Raises:
            Exception: pdfminer's own, of many kinds.
        """
        if len(content.level_rules) + len(content.upright_rules) < MIN_RULES:
            return []
        page = self._document.pages[content.number - 1]
        tables: list[TableBox] = []
        try:
            for found in page.find_tables():
                rows = [[cell or "" for cell in row] for row in found.extract()]
                if not is_table(rows):
                    continue
                x0, y0, x1, y1 = found.bbox
                tables.append(TableBox([[" ".join(cell.split()) for cell in row] for row in rows], x0, y0, x1, y1))
        finally:
            page.close()  # drops what pdfplumber keeps of each page
        for table in tables:
            content.words = [
                word
                for word in content.words
                if not (
                    table.x0 <= (word.x0 + word.x1) / 2 <= table.x1 and table.y0 <= (word.y0 + word.y1) / 2 <= table.y1
                )
            ]
        return tables

    def close(self) -> None:
        """Closes the file."""
        self._document.close()
