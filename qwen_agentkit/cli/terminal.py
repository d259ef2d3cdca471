"""What the commands write: clean text to standard output and standard error."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

# Everything but tab and newline that a terminal would act on instead of showing: text from documents and
# models must not move the cursor, change colours or set the window's title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without characters that steer a terminal."""
    return _CONTROL.sub("", text)


def write(text: str) -> None:
    """Puts text on standard output at once, as it is but for what would steer the terminal."""
    _put(sys.stdout, plain(text))


def say(line: str) -> None:
    """Puts one line on standard error."""
    sys.stdout.flush()
    _put(sys.stderr, plain(line) + "\n")


def prompt(text: str) -> None:
    """Puts a prompt on standard error and leaves the line open."""
    sys.stdout.flush()
    _put(sys.stderr, text)


def write_json(value: Any) -> None:
    """Puts one JSON value on standard output, on a line of its own."""
    as_is = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=not as_is) + "\n")
    sys.stdout.flush()


def _put(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        # A terminal that cannot show a character gets a question mark in its place.
        stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()
