"""Cuts text into index terms: the same way for a document and for a query, in any language.

- Words of scripts with spaces: folded, in lower case, English ones stemmed, without stop words. A stop word in
  capitals (``IT``, ``WHO``, ``US``) in a text that is not all capitals is a name and stays.
- Codes, numbers, names of files and identifiers (``KX-41``, ``snake_case``, ``camelCase``, ``v2.3.1``,
  ``report_2024.pdf``): the whole and its parts; a code of letters and digits also without its hyphens (``kx41``).
- Chinese, Japanese, Korean, Thai: each character and each pair of neighbours.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from qwen_agentkit.utils.text.folding import HAN, UNSPACED, fold
from qwen_agentkit.utils.text.stopwords import CHINESE_CHARACTERS, CHINESE_QUESTION_WORDS, ENGLISH

# Bump when the terms of some text change: an index made with another version is made anew.
SEGMENT_VERSION = 1

# Letters and digits of spaced scripts, with the vowel signs of the Indic ones.
_LETTER = f"(?:(?![{UNSPACED}])[^\\W_]|[\u0900-\u0963\u0966-\u0dff])"
_TERM = re.compile(
    f"[{UNSPACED}]+"
    "|\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?(?!\\w)"  # 1,000.5
    "|[CcFf](?:\\+\\+|#)(?!\\w)"  # C++, C#
    f"|_*{_LETTER}+(?:(?:[-.'&]|_+){_LETTER}+)*"
)
_UNSPACED_START = re.compile(f"[{UNSPACED}]")
_HAN_RUN = re.compile(f"[{HAN}]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\WA-Za-z\d_]+")
_SEPARATORS = re.compile(r"[-._'&]+")
_QUESTION_WORDS = re.compile("|".join(sorted(map(re.escape, CHINESE_QUESTION_WORDS), key=len, reverse=True)))
# Longer "words" are data (base64, hashes of hashes): they are cut, so that no term is huge.
_MAX_TERM = 64
_MAX_REMEMBERED = 60_000


def segment(text: str) -> list[str]:
    """The index terms of `text`, in order, repeated as often as they stand there."""
    folded = fold(text)
    terms: list[str] = []
    extend = terms.extend
    words = _CAPITALS if folded.isupper() else _WORDS
    for word in _TERM.findall(folded):
        extend(words[word])
    return terms


def query_terms(text: str) -> list[str]:
    """The terms that a query asks for, each once, in order: those of `segment` without what only asks."""
    return list(query_weights(text))


@lru_cache(maxsize=1024)
def _query_weights(text: str) -> tuple[tuple[str, float], ...]:
    folded = fold(text)
    asked = _QUESTION_WORDS.sub(" ", folded)
    terms = segment(asked) or segment(folded)
    if not terms:  # nothing but stop words: "to be or not to be"
        terms = [word.lower() for word in _TERM.findall(folded)]
    weights: dict[str, float] = {}
    for term in terms:
        weights[term] = max(weights.get(term, 0.0), 1.0)
    return tuple(weights.items())


def query_weights(text: str) -> dict[str, float]:
    """The terms of a query with the weight of each, 1.0 for an ordinary one."""
    return dict(_query_weights(text))


class _Words(dict):
    """The terms of each distinct word, worked out once; texts repeat their words, so this is the usual way."""

    def __init__(self, capitals: bool) -> None:
        super().__init__()
        self.capitals = capitals

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = tuple(_terms_of(word, self.capitals))
        if len(word) <= _MAX_TERM:
            if len(self) >= _MAX_REMEMBERED:
                self.clear()
            self[word] = terms
        return terms


_WORDS = _Words(capitals=False)
_CAPITALS = _Words(capitals=True)


def _terms_of(word: str, capitals: bool) -> list[str]:
    if _UNSPACED_START.match(word):
        return _characters_and_pairs(word)
    if word.isalpha():
        return _of_plain_word(word, capitals)
    if word[0].isdigit() and "," in word:
        whole = word.replace(",", "")
        return [whole]
    return _of_compound(word.strip("_"), capitals)


def _characters_and_pairs(run: str) -> list[str]:
    terms = []
    previous = ""
    for character in run:
        if previous:
            terms.append(previous + character)
        if character not in CHINESE_CHARACTERS:
            terms.append(character)
        previous = character
    return terms or [run]


def _of_plain_word(word: str, capitals: bool) -> list[str]:
    lower = word.lower()
    if lower in ENGLISH and (capitals or len(word) < 2 or not word.isupper()):
        return []
    terms = [_stem(lower)]
    if not word.islower() and not word.isupper() and not word.istitle():
        terms += [_stem(part) for part in _camel_parts(word) if len(part) > 1 and part not in ENGLISH]
    return terms


def _of_compound(word: str, capitals: bool) -> list[str]:
    """The whole, the pieces between dots, and the smallest parts of what has signs or digits in it."""
    pieces = _SEPARATORS.split(word)
    lower = word.lower()
    if "'" in word and not any(character.isdigit() for character in word):
        return _of_apostrophe(word, capitals)
    if len(pieces) > 1 and all(len(piece) == 1 and piece.isalpha() for piece in pieces):
        return ["".join(pieces).lower()]  # U.S.A.
    terms = [lower]
    if "." in word and not lower.replace(".", "").isdigit():
        terms += [piece for piece in lower.split(".") if piece and not piece.isalnum()]
    if _is_hyphened_code(word, pieces):
        terms.append("".join(pieces).lower())  # KX-41 is also KX41
    for piece in pieces:
        if piece.isalpha():
            terms += _of_plain_word(piece, capitals)
        elif len(pieces) > 1:
            terms.append(piece.lower())
        if _has_digit(piece):
            parts = _camel_parts(piece)
            terms += [_stem(part) for part in parts if len(parts) > 1 and (len(part) > 1 or part.isdigit())]
    seen = dict.fromkeys(term[:_MAX_TERM] for term in terms if term)
    return list(seen)


def _is_hyphened_code(word: str, pieces: list[str]) -> bool:
    short = 1 < len(pieces) < 4 and len(word) <= 20 and "." not in word and "_" not in word
    return short and any(map(_has_digit, pieces)) and not all(piece.isdigit() for piece in pieces)


def _of_apostrophe(word: str, capitals: bool) -> list[str]:
    """``company's`` is company, ``don't`` a stop word, ``O'Neil`` found as oneil and neil."""
    lower = word.lower()
    head, _, tail = lower.partition("'")
    if tail in ENGLISH and len(tail) <= 2:
        return _of_plain_word(word[: len(head)], capitals) if head.isalpha() else _of_compound(head, capitals)
    terms = ["".join(_SEPARATORS.split(lower))]
    for piece in _SEPARATORS.split(word):
        terms += [term for term in _of_plain_word(piece, capitals) if len(piece) > 1]
    return list(dict.fromkeys(terms))


def _camel_parts(word: str) -> list[str]:
    return [part.lower() for part in _CAMEL.findall(word)]


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _stem(word: str) -> str:
    if len(word) > _MAX_TERM:
        return word[:_MAX_TERM]
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    return _stemmer().stemWord(word)


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")
