"""`simple_doc_parser`: a document as text, or page by page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import DocParserError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.documents import SUPPORTED_FILE_TYPES, document_cache, one_document
from qwen_agentkit.utils.tokenization_qwen import count_tokens

if TYPE_CHECKING:
    from qwen_agentkit.rag.document import Document

__all__ = [
    "PARAGRAPH_SPLIT_SYMBOL",
    "PARSER_SUPPORTED_FILE_TYPES",
    "DocParserError",
    "SimpleDocParser",
    "df_to_md",
    "get_plain_doc",
    "parse_csv",
    "parse_excel",
    "parse_html_bs",
    "parse_pdf",
    "parse_ppt",
    "parse_tsv",
    "parse_txt",
    "parse_word",
]

PARAGRAPH_SPLIT_SYMBOL = "\n"
PARSER_SUPPORTED_FILE_TYPES = SUPPORTED_FILE_TYPES

Pages = list[dict[str, Any]]
"""`[{"page_num": 1, "content": [{"text" | "table" | "image": ..., "token": ...}], "title": ...}]`"""


@register_tool("simple_doc_parser")
class SimpleDocParser(BaseTool):
    """Reads a document.

    Args:
        cfg: `structured_doc`: pages in place of plain text. `extract_image`: pages hold their pictures too, as
            `data:` addresses.
    """

    fenced = True
    description = f"Reads the text of a document: {', '.join(SUPPORTED_FILE_TYPES)} and others."
    parameters = {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Path or http(s) address of the document."}},
        "required": ["url"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.extract_image: bool = self.cfg.get("extract_image", False)
        self.structured_doc: bool = self.cfg.get("structured_doc", False)

    @property
    def file_access(self) -> bool:
        return True

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str | Pages:
        """The text, or the pages with `structured_doc`.

        Args:
            params: `url`. In JSON text, which is what a model writes, only files that it may read.

        Raises:
            DocParserError: It cannot be read.
        """
        url = self._verify_json_format_args(params)["url"]
        document = one_document(url, kwargs, isinstance(params, str), keep_images=self.extract_image)
        pages = _pages(document, self.extract_image)
        return pages if self.structured_doc else get_plain_doc(pages)


def get_plain_doc(doc: Iterable[Mapping[str, Any]]) -> str:
    """The text of pages, one paragraph a line."""
    return PARAGRAPH_SPLIT_SYMBOL.join(
        part[kind] for page in doc for part in page["content"] for kind in ("text", "table", "image") if kind in part
    )


def _pages(document: Document, with_images: bool = False) -> Pages:
    """A document by its pages or slides; one without pages, and each sheet, is one page."""
    pages: dict[Any, list[dict[str, Any]]] = {}
    current: Any = 1
    for block in document.blocks:
        if block.page is not None or block.sheet is not None:
            current = block.page if block.page is not None else block.sheet
        kind = "table" if block.kind == "table" else "text"
        pages.setdefault(current, []).append({kind: block.text, "token": count_tokens(block.text)})
    if with_images:
        for image in document.images:
            place = image.page if image.page is not None else next(iter(pages), 1)
            pages.setdefault(place, []).append({"image": image.content_item().image, "token": 0})
    result: Pages = []
    for number, (page, content) in enumerate(pages.items(), 1):
        entry: dict[str, Any] = {"page_num": page if isinstance(page, int) else number, "content": content}
        if isinstance(page, str):
            entry["sheet"] = page
        result.append(entry)
    if result:
        result[0]["title"] = document.title
    return result


def _parse(path: str | os.PathLike[str], extract_image: bool) -> Pages:
    from qwen_agentkit.rag.workers import read_document_in_worker

    document = read_document_in_worker(path, keep_images=extract_image, cache=document_cache())
    return _pages(document, extract_image)


def parse_pdf(pdf_path: str, extract_image: bool = False) -> Pages:
    """The pages of a PDF.

    Raises:
        DocParserError: It cannot be read.
    """
    return _parse(pdf_path, extract_image)


def parse_word(docx_path: str, extract_image: bool = False) -> Pages:
    """A DOCX document as one page; raises as `parse_pdf`."""
    return _parse(docx_path, extract_image)


def parse_ppt(path: str, extract_image: bool = False) -> Pages:
    """The slides of a PPTX file; raises as `parse_pdf`."""
    return _parse(path, extract_image)


def parse_txt(path: str) -> Pages:
    """A text file as one page; raises as `parse_pdf`."""
    return _parse(path, False)


def parse_excel(file_path: str, extract_image: bool = False) -> Pages:
    """The sheets of a workbook; raises as `parse_pdf`."""
    return _parse(file_path, extract_image)


def parse_csv(file_path: str, extract_image: bool = False) -> Pages:
    """A CSV file as one page with a table; raises as `parse_pdf`."""
    return _parse(file_path, extract_image)


def parse_tsv(file_path: str, extract_image: bool = False) -> Pages:
    """A TSV file as one page with a table; raises as `parse_pdf`."""
    return _parse(file_path, extract_image)


def parse_html_bs(path: str, extract_image: bool = False) -> Pages:
    """An HTML page; raises as `parse_pdf`."""
    return _parse(path, extract_image)


def df_to_md(df: Any) -> str:
    """A pandas DataFrame as a Markdown table; missing values are empty."""
    from qwen_agentkit.rag.markdown_table import markdown_table

    rows = df.astype(object).where(df.notna(), None).values.tolist()
    names = [str(name) for name in df.columns]
    return markdown_table([names, *([None if cell is None else str(cell) for cell in row] for row in rows)])
