"""XLSB: how large the sheets of a binary workbook are, before calamine lays out a grid for them ([MS-XLSB] 2.1.4)."""

from __future__ import annotations

from qwen_agentkit.errors import LimitExceededInFile
from qwen_agentkit.rag.guards import GuardedZip
from qwen_agentkit.rag.parsers.xlsx_stream import Extent

_LARGEST_GRID = 12_000_000  # cells; each takes 24 bytes and more
_ROW_HEADER = 0
_CELLS = range(1, 12)  # blank, number, error, boolean, text, shared text, and the results of formulas


def check_xlsb(package: GuardedZip) -> None:
    """Counts what comes out of the package, and looks at each sheet's size.

    Raises:
        LimitExceededInFile: The package expands too much, or a sheet is so sparse that its grid would fill the
            memory.
    """
    for name in package.names():
        if not name.startswith("xl/") or "/media/" in name or name.endswith("/"):
            continue
        data = package.read(name)
        if "worksheets/" in name and name.endswith(".bin"):
            extent = scan_xlsb(data)
            if extent.rows * extent.columns > max(_LARGEST_GRID, 4 * extent.cells):
                raise LimitExceededInFile(
                    message=f"a sheet reaches to row {extent.rows:,} and column {extent.columns:,} with "
                    f"{extent.cells:,} cells in it; save the workbook as .xlsx to have it read"
                )


def scan_xlsb(data: bytes) -> Extent:
    """Size of a sheet by the records of its rows and cells; a part that is cut ends where its data end."""
    extent = Extent()
    at, end = 0, len(data)
    while at < end:
        kind = data[at]
        at += 1
        if kind & 0x80 and at < end:
            kind = (kind & 0x7F) | (data[at] & 0x7F) << 7
            at += 1
        size = shift = 0
        while at < end and shift < 28:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if kind == _ROW_HEADER:
            extent.rows = max(extent.rows, int.from_bytes(data[at : at + 4], "little") + 1)
        elif kind in _CELLS:
            extent.columns = max(extent.columns, int.from_bytes(data[at : at + 4], "little") + 1)
            extent.cells += 1
        at += size
    return extent
