"""Names of agents in text: `@Mia`, or the name that a model gave when it was asked who speaks next.

Names are compared exactly first, then with case, spaces, underscores (escaped ones too) and quotes folded, and
always as whole words: `Ann` is not in `Annual`. A name of Chinese characters needs no space around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_QUOTES = "\"'`“”‘’「」『』《》*"
_SEPARATORS = r"(?:\s|\\?_)*"


@lru_cache(maxsize=1024)
def _pattern(name: str, exact: bool, prefix: str = "") -> re.Pattern[str]:
    stripped = name.strip().strip(_QUOTES) or name
    if exact:
        body, flags = re.escape(stripped), 0
    else:
        # Between words separators may differ or be missing: Senior Engineer, Senior\_Engineer, seniorengineer.
        words = [re.escape(word) for word in re.split(r"[\s_\\]+", stripped) if word] or [re.escape(stripped)]
        body, flags = _SEPARATORS.join(words), re.IGNORECASE
    # A boundary is wanted only where the name itself ends in a letter or digit of ASCII.
    before = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", stripped) or prefix else ""
    after = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", stripped) else ""
    return re.compile(f"{before}{re.escape(prefix)}{body}{after}", flags)


def _found(text: str, names: Iterable[str], exact: bool, prefix: str = "") -> list[tuple[int, int, str]]:
    """(start, end, name) of each place where a name stands; of overlapping ones the longest."""
    hits = [
        (match.start(), match.end(), name)
        for name in names
        for match in _pattern(name, exact, prefix).finditer(text)
        if match.end() > match.start()
    ]
    hits.sort(key=lambda hit: (-(hit[1] - hit[0]), hit[0]))
    kept: list[tuple[int, int, str]] = []
    for hit in hits:
        if all(hit[1] <= other[0] or hit[0] >= other[1] for other in kept):
            kept.append(hit)
    return sorted(kept)


def names_in(text: str, names: Sequence[str]) -> list[str]:
    """The names that stand in a text, each once, in order of appearance.

    Args:
        text: A model's answer, say.
        names: The names looked for.
    """
    for exact in (True, False):
        found = list(dict.fromkeys(name for _, _, name in _found(text, names, exact)))
        if found:
            return found
    return []


def same_name(given: str, names: Sequence[str]) -> str | None:
    """The one of `names` that a text as a whole means, None when it is none or not clear which."""
    bare = given.strip().strip(_QUOTES + ".。:：,，").strip()
    if bare in names:
        return bare
    folded = fold(bare)
    alike = [name for name in names if fold(name) == folded]
    return alike[0] if len(alike) == 1 else None


def fold(name: str) -> str:
    """A name without case, spaces, underscores and quotes; two names that fold alike are easily mixed up."""
    return re.sub(r"[\s_\\]+", "", name.strip(_QUOTES + " \t\n")).casefold()


def mentions_in(text: str, names: Sequence[str]) -> list[str]:
    """Who is called with `@name` in a text, each once, in that order; `@` inside a word is an address."""
    if "@" not in text:
        return []
    exact = _found(text, names, exact=True, prefix="@")
    taken = [(start, end) for start, end, _ in exact]
    loose = [
        hit
        for hit in _found(text, names, exact=False, prefix="@")
        if all(hit[1] <= start or hit[0] >= end for start, end in taken)
    ]
    return list(dict.fromkeys(name for _, _, name in sorted([*exact, *loose])))
