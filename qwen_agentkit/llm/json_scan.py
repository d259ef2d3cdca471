"""Finding the end of a JSON value in text that is still arriving.

The scanner knows strings and escapes, so a brace or a tag inside a string ends nothing. It is lenient: single
quotes are strings where a key or a value may stand, and what is between the quotes is not checked.
"""

from __future__ import annotations

import re

_INSIDE = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]")}
_OUTSIDE = re.compile(r"""["'{}\[\]]""")
# An apostrophe is a quotation mark only where a key or a value may begin.
_BEFORE_VALUE = frozenset("{[,:(=")


class JsonScanner:
    """Walks over a JSON object or array piece by piece; every character is looked at once.

    Attributes:
        done: The value that was opened first has been closed.
        quote: The quotation mark of the string the scanner stands in, or None.
        depth: Open brackets.
    """

    __slots__ = ("_escaped", "_last", "depth", "done", "quote")

    def __init__(self) -> None:
        self.done = False
        self.quote: str | None = None
        self.depth = 0
        self._escaped = False
        self._last = ":"

    def scan(self, text: str, start: int, limit: int) -> int:
        """Reads ``text[start:limit]``.

        Returns:
            The offset after the closing bracket when the value ended (`done` is then True), else `limit`.
        """
        position = start
        while position < limit:
            if self.quote is not None:
                if self._escaped:
                    self._escaped = False
                    position += 1
                    continue
                found = _INSIDE[self.quote].search(text, position, limit)
                if found is None:
                    return limit
                position = found.end()
                if found[0] == "\\":
                    self._escaped = True
                else:
                    self._last = self.quote
                    self.quote = None
                continue
            found = _OUTSIDE.search(text, position, limit)
            gap = text[position : limit if found is None else found.start()].rstrip()
            if gap:
                self._last = gap[-1]
            if found is None:
                return limit
            position = found.end()
            mark = found[0]
            if mark == '"' or (mark == "'" and self._last in _BEFORE_VALUE):
                self.quote = mark
            elif mark in "{[":
                self.depth += 1
            elif mark in "}]":
                self.depth -= 1
                if self.depth <= 0:
                    self.done = True
                    return position
            self._last = mark
        return position


def value_end(text: str, start: int) -> int | None:
    """The offset after the object or array that opens at `start`, or None when it is not closed."""
    scanner = JsonScanner()
    end = scanner.scan(text, start, len(text))
    return end if scanner.done else None
