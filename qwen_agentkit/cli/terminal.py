"""What the commands write: clean text to standard output and standard error, coloured on a terminal alone."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

# Everything but tab and newline that a terminal would act on instead of showing: text from documents and
# models must not move the cursor, change colours or set the window's title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# Styles that a line may have, as the numbers of "select graphic rendition" (ECMA-48).
_STYLES = {"": "", "dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

# One process runs one command, whose --quiet sets this.
_quiet = False


def be_quiet(wanted: bool) -> None:
    """Leaves out, or shows again, what `remark` says."""
    global _quiet
    _quiet = wanted


def is_quiet() -> bool:
    """Whether remarks and progress are left out."""
    return _quiet


def plain(text: str) -> str:
    """The text without characters that steer a terminal."""
    return _CONTROL.sub("", text)


def write(text: str, style: str = "") -> None:
    """Puts text on standard output at once, as it is but for what would steer the terminal.

    Args:
        text: What to write.
        style: One of `dim bold red green yellow cyan`, used where standard output is a terminal with colours.
    """
    _put(sys.stdout, _styled(sys.stdout, plain(text), style))


def say(line: str, style: str = "") -> None:
    """Puts one line on standard error: an error, a problem, what the user must see."""
    sys.stdout.flush()
    _put(sys.stderr, _styled(sys.stderr, plain(line), style) + "\n")


def remark(line: str, style: str = "dim") -> None:
    """Puts one line on standard error unless --quiet was given: what is good to know."""
    if not _quiet:
        say(line, style)


def prompt(text: str) -> None:
    """Puts a prompt on standard error and leaves the line open."""
    sys.stdout.flush()
    _put(sys.stderr, text)


def write_json(value: Any) -> None:
    """Puts one JSON value on standard output, on a line of its own."""
    as_is = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=not as_is) + "\n")
    sys.stdout.flush()


def has_colours(stream: Any) -> bool:
    """Whether a stream is a terminal that shows colours, and the user wants them (https://no-color.org)."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "")


def _styled(stream: Any, text: str, style: str) -> str:
    if not style or not text.strip() or not has_colours(stream):
        return text
    body = text.rstrip("\n")
    return f"\x1b[{_STYLES[style]}m{body}\x1b[0m{text[len(body) :]}"


def _put(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        # A terminal that cannot show a character gets a question mark in its place.
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()
