"""Ages, sizes and moments as people write and read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from qwen_agentkit.cli.status import WrongUse

_SECONDS = {"": 86_400, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds_of(age: str) -> float:
    """Seconds of an age such as `90m`, `12h`, `30d`, `2w`; a number alone is days.

    Raises:
        WrongUse: It is no age.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", age.strip().lower())
    if match is None:
        raise WrongUse(f"an age is a number of days, or one with s, m, h, d or w such as 12h; not {age!r}")
    return float(match[1]) * _SECONDS[match[2]]


def size_text(size: int) -> str:
    """A number of bytes, such as `1.5 MB`."""
    if size < 1_000:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1_000
        if amount < 999.95 or unit == "GB":
            break
    return f"{amount:.1f} {unit}"


def moment_text(moment: float) -> str:
    """A time in seconds since 1970 as date and minute, here."""
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M")


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines whose columns stand under each other; wide characters count as two."""
    from rich.cells import cell_len

    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def shortened(text: str, most: int) -> str:
    """A text on one line, cut off with an ellipsis beyond `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
