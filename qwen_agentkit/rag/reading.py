"""Reading one file in this process: what it is, which parser reads it, and what comes of a failure.

Files from outside belong into the worker processes of `qwen_agentkit.rag.workers`, which use this module and can be
killed; a parser that crashes here takes the program with it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

from qwen_agentkit.errors import (
    DamagedFile,
    DocParserError,
    EmptyDocument,
    LimitExceededInFile,
    MissingDependencyError,
    PasswordRequired,
    UnsupportedFileType,
)
from qwen_agentkit.log import logger
from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.document import Block, Document
from qwen_agentkit.rag.limits import REFUSED, ReadLimits, ReadOptions, check_file_size
from qwen_agentkit.rag.ocr import check_ocr, chosen_ocr
from qwen_agentkit.rag.sniff import sniff

PARSER_VERSION = "2"
"""Part of every cache key: raised when a parser gives another result for the same file."""

_PACKAGE = "qwen_agentkit.rag.parsers."

# kind (see `sniff`) -> module of qwen_agentkit.rag.parsers, imported when such a file is met
PARSERS = {
    "pdf": "pdf",
    "docx": "docx",
    "pptx": "pptx",
    "xlsx": "sheet",
    "xlsb": "sheet",
    "xls": "sheet",
    "ods": "sheet",
    "csv": "delimited",
    "tsv": "delimited",
    "html": "html",
    "md": "text",
    "txt": "text",
    "code": "text",
    "json": "text",
    "jsonl": "text",
    "xml": "text",
    "epub": "epub",
    "odt": "odt",
    "rtf": "rtf",
    "eml": "mail",
    "ipynb": "notebook",
}

# What cannot be read, and what to do about it.
_ADVICE = {
    "doc": "the old Word format (.doc) is not supported; save it as .docx or PDF",
    "ppt": "the old PowerPoint format (.ppt) is not supported; save it as .pptx or PDF",
    "msg": "Outlook messages (.msg) are not supported; save it as .eml",
    "odf": "this OpenDocument kind is not supported; save it as PDF",
    "zip": "it is a zip archive and no document; unpack it first",
    "png": "it is a picture; give it to a model that sees, or make a PDF and read it with ocr",
    "jpeg": "it is a picture; give it to a model that sees, or make a PDF and read it with ocr",
}

SUPPORTED = "pdf docx pptx xlsx xls ods csv tsv html md txt json jsonl xml epub odt rtf eml ipynb and source code"


def read_document(
    path: str | os.PathLike[str],
    *,
    password: str | None = None,
    engine: str = "auto",
    tables: str = "auto",
    keep_images: bool = False,
    ocr: bool | str | Callable[[bytes], str] | None = None,
    limits: ReadLimits | None = None,
    source: str | None = None,
    on_block: Callable[[Block], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Document:
    """Reads one file of any supported kind.

    Args:
        path: The file. Its content decides what it is, not its name.
        password: Opens an encrypted file.
        engine: For PDF: `auto`, `pdfium` or `pdfminer`.
        tables: For PDF: `auto`, or `pdfplumber` (extra `tables`), which is slower, for hard ones.
        keep_images: Pictures are kept in `Document.images`.
        ocr: Reads pages without a text layer; see `qwen_agentkit.rag.ocr.recognise`. False leaves them out; None is
            `settings.OCR`.
        limits: What reading may cost; None is `ReadLimits()`.
        source: What the document says it comes from; None is the absolute, resolved path.
        on_block: Called with each block as soon as it is read.
        on_progress: Called with (pages done, pages in all) where the format has pages.

    Returns:
        The document. What was read before a limit or a fault is kept, with a warning; a scan is a document without
        blocks and a warning.

    Raises:
        FileNotFoundError: There is no such file.
        IsADirectoryError: It is a folder.
        UnsupportedFileType: It is of a kind that cannot be read.
        PasswordRequired: It is encrypted.
        DamagedFile: It is not a valid file of its kind, and nothing could be read.
        LimitExceededInFile: It goes beyond a limit, and nothing could be read.
        EmptyDocument: It holds nothing at all.
    """
    check_engine(engine, tables)
    ocr = chosen_ocr(ocr)
    check_ocr(ocr)
    options = ReadOptions(
        password=password, engine=engine, tables=tables, keep_images=keep_images, ocr=ocr, limits=limits or ReadLimits()
    )
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if file.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the files in it.")
    file = file.resolve()
    name = source if source is not None else str(file)
    try:
        return _read(file, name, options, on_block, on_progress)
    except DocParserError as error:
        raise _named(error, name) from error


def check_engine(engine: str, tables: str) -> None:
    """Refuses names of PDF engines and table readers that do not exist.

    Raises:
        ValueError: One is none; the text lists those there are.
    """
    if engine not in ("auto", "pdfium", "pdfminer"):
        raise ValueError(f"engine is one of auto, pdfium, pdfminer; given {engine!r}.")
    if tables not in ("auto", "pdfplumber"):
        raise ValueError(f"tables is one of auto, pdfplumber; given {tables!r}.")


def _read(
    file: Path,
    source: str,
    options: ReadOptions,
    on_block: Callable[[Block], None] | None,
    on_progress: Callable[[int, int], None] | None,
) -> Document:
    check_file_size(file, options.limits)
    kind = sniff(file)
    if kind == "empty":
        raise EmptyDocument(message="the file is empty (0 bytes)")
    if kind == "ooxml-encrypted":
        raise PasswordRequired(message="the Office file is encrypted; save it without a password")
    if kind not in PARSERS:
        advice = _ADVICE.get(kind, f"files of this kind ({kind}) are not supported")
        raise UnsupportedFileType(message=f"{advice}. Supported: {SUPPORTED}")
    out = DocumentBuilder(source, kind, options.limits, on_block, on_progress)
    ending = file.suffix.lower().lstrip(".")
    if ending and ending != kind and _names_another(ending, kind):
        out.warn(f"the name ends in .{ending}, but the content is {kind}; it was read as {kind}")
    module = importlib.import_module(_PACKAGE + PARSERS[kind])
    try:
        module.parse(file, out, options)
    except (PasswordRequired, UnsupportedFileType):
        raise
    except DocParserError as error:
        if not out.blocks or (error.extra or {}).get(REFUSED):
            raise
        out.warn(f"{error.message}; what was read before is kept")
    except MissingDependencyError:
        raise
    except MemoryError as error:
        if not out.blocks:
            raise LimitExceededInFile(exception=error, message="reading it takes more memory than allowed") from error
        out.warn("reading it takes more memory than allowed; what was read before is kept")
    except RecursionError as error:
        if not out.blocks:
            raise LimitExceededInFile(exception=error, message="it is nested too deeply") from error
        out.warn("it is nested too deeply; what was read before is kept")
    except Exception as error:  # a parser's library trips over the file: its kinds of errors are without number
        _survive(error, out)
    document = out.document(file.name if source == str(file) else Path(source).name or source)
    if not document.blocks and not document.images and not document.warnings:
        raise EmptyDocument(message="there is no text in it")
    return document


def _survive(error: Exception, out: DocumentBuilder) -> None:
    """A fault of a parser on this file: the file is called damaged, or what was read before is kept."""
    logger.warning("%s could not be read to its end", out.source, exc_info=error)
    if not out.blocks:
        raise DamagedFile(exception=error, message=f"it cannot be read ({type(error).__name__}: {error})") from error
    out.warn(f"it could not be read to its end ({type(error).__name__}: {error}); what was read before is kept")


def _named(error: DocParserError, source: str) -> DocParserError:
    """The same error with the file named first, once."""
    message = error.message or type(error).__name__
    if message.startswith(source):
        return error
    named = type(error)(error.exception, error.code, f"{source}: {message}", error.extra)
    return named


_SAME = {
    "htm": "html",
    "xhtml": "html",
    "markdown": "md",
    "xlsm": "xlsx",
    "xltx": "xlsx",
    "docm": "docx",
    "dotx": "docx",
    "pptm": "pptx",
    "ppsx": "pptx",
    "ndjson": "jsonl",
    "tab": "tsv",
}


def _names_another(ending: str, kind: str) -> bool:
    """The name's ending promises a kind that the content is not."""
    promised = _SAME.get(ending, ending)
    return promised != kind and promised in {*PARSERS, "doc", "ppt"} and not (promised == "txt" and kind == "md")
