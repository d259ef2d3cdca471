"""CSV and TSV: decoded by the ladder of `rag.encoding`, split by the csv module, no value ever changed."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from qwen_agentkit.rag.builder import DocumentBuilder
from qwen_agentkit.rag.encoding import decode
from qwen_agentkit.rag.limits import ReadOptions
from qwen_agentkit.rag.parsers.rows import RowWriter

# In doubt the rarer mark wins: a comma also stands in numbers and sentences.
DELIMITERS = ("\t", ";", "|", ",")
_SNIFFED_ROWS = 60
_SNIFFED_CHARACTERS = 60_000
_LARGEST_FIELD = 10_000_000
_LINES_IN_A_FIELD = 200  # more is a quote mark that was never closed
_DIRECTIVE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


def parse(path: Path, builder: DocumentBuilder, options: ReadOptions) -> None:
    """Reads a file of delimited values into the builder; rows are numbered by records from 1.

    Args:
        path: The file.
        builder: Takes the tables; a blank record ends one.
        options: `limits` bound the cells.

    Raises:
        LimitExceededInFile: Too many cells or too much text; what was read before is in the builder.
    """
    decoded = decode(path.read_bytes())
    if decoded.warning:
        builder.warn(decoded.warning)
    add_delimited(decoded.text, builder)


def add_delimited(text: str, builder: DocumentBuilder) -> None:
    """Writes the rows of a text of delimited values into the builder.

    Args:
        text: The whole file; a first line `sep=;`, as Excel writes it, names the delimiter.
        builder: Takes the tables.
    """
    directive = _DIRECTIVE.match(text)
    if directive:
        delimiter, text = directive.group(1), text[directive.end() :]
    else:
        delimiter = sniff_delimiter(text)
    quoted = _quotes_are_closed(text, delimiter)
    if not quoted:
        builder.warn("a quote mark is never closed; quote marks were read as plain characters")
    writer = RowWriter(builder)
    try:
        for number, row in enumerate(_records(text, delimiter, quoted)):
            writer.add(number, row)
    finally:
        writer.flush()


def sniff_delimiter(text: str) -> str:
    """The delimiter that splits the first rows into the most regular columns; a comma for a single column."""
    sample = text[:_SNIFFED_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        widths: Counter[int] = Counter()
        for row in _records(sample, delimiter, True):
            if row and any(cell.strip() for cell in row):
                widths[len(row)] += 1
            if widths.total() >= _SNIFFED_ROWS:
                break
        several = {width: count for width, count in widths.items() if width > 1}
        if not several:
            continue
        width, count = max(several.items(), key=lambda pair: (pair[1], pair[0]))
        score = count / widths.total() + min(width, 20) / 1000 - _misplaced_quotes(sample, delimiter)
        # A delimiter that is merely as regular does not replace one that is rarer in prose.
        if score > best_score + 0.05:
            best, best_score = delimiter, score
    return best


def _records(text: str, delimiter: str, quoted: bool) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_FIELD))
    stream = io.StringIO(text, newline="")
    reader = csv.reader(
        stream,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=delimiter != "\t",
        strict=False,
    )
    try:
        yield from reader
    except csv.Error:
        # The csv module gave up inside a row; the rest is split without regard to quote marks.
        for line in stream:
            yield line.rstrip("\r\n").split(delimiter)


def _quotes_are_closed(text: str, delimiter: str) -> bool:
    """False when a quoted field swallows more lines than any cell has, or runs to the end of the file."""
    if '"' not in text:
        return True
    row: list[str] = []
    for row in _records(text, delimiter, True):
        if any(cell.count("\n") > _LINES_IN_A_FIELD for cell in row):
            return False
    return text.count('"') % 2 == 0 or not any("\n" in cell for cell in row)


def _misplaced_quotes(sample: str, delimiter: str) -> float:
    """Share of the quote marks that stand neither beside the delimiter nor at an end of a line."""
    total = sample.count('"')
    if not total:
        return 0.0
    beside = re.escape(delimiter) + r'"\r\n'
    return len(re.findall(rf'(?<=[^{beside}])"(?=[^{beside}])', sample)) / total
