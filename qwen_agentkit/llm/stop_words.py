"""Cutting a streamed text at the first stop word."""

from __future__ import annotations

import re
from collections.abc import Iterable


def stop_list(*given: str | Iterable[str] | None) -> list[str]:
    """One list without repeats of stop words given as text, list or None.

    Raises:
        ValueError: A stop word is not text.
    """
    words: dict[str, None] = {}
    for stop in given:
        for word in [stop] if isinstance(stop, str) else stop or []:
            if not isinstance(word, str):
                raise ValueError(f"A stop word is text, not {word!r}")
            if word:
                words.setdefault(word)
    return list(words)


class StopWords:
    """Passes a text on piece by piece, up to the earliest stop word.

    The end of the text that may be the beginning of a stop word is held back until that is decided, so a
    stop word is found across pieces; what turns out to be none is passed on whole.

    Args:
        words: The stop words.

    Attributes:
        found: The stop word that ended the text, None while it goes on.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = stop_list(words)
        # Alternatives are tried in this order where two start at the same place: then the longest counts.
        self._any = (
            re.compile("|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True)))
            if self._words
            else None
        )
        self._longest = max(map(len, self._words), default=0)
        self._held = ""
        self.found: str | None = None

    def feed(self, piece: str) -> str:
        """Takes the next piece, returns what is decided to be text."""
        if self.found is not None:
            return ""
        if self._any is None:
            return piece
        text = self._held + piece
        match = self._any.search(text)
        if match is not None:
            # A longer word that starts earlier may still be growing: "ab" must not win over "xabc" in "..xab".
            start = self._possible_start(text, match.start())
            if start is None:
                self.found = match.group()
                self._held = ""
                return text[: match.start()]
            self._held = text[start:]
            return text[:start]
        start = self._possible_start(text, len(text))
        if start is None:
            self._held = ""
            return text
        self._held = text[start:]
        return text[:start]

    def finish(self) -> str:
        """The text held back, when no more comes."""
        held, self._held = self._held, ""
        if self.found is None and self._any is not None:
            match = self._any.search(held)
            if match is not None:
                self.found = match.group()
                return held[: match.start()]
        return held

    def _possible_start(self, text: str, before: int) -> int | None:
        """Where, earlier than `before`, the end of `text` may be an unfinished stop word."""
        first = max(0, len(text) - self._longest + 1)
        for start in range(first, min(before, len(text))):
            tail = text[start:]
            if any(len(word) > len(tail) and word.startswith(tail) for word in self._words):
                return start
        return None
