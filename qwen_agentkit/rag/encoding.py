"""Bytes of a text file become text: byte-order mark, NUL pattern, strict UTF-8, declared name, then a guess.

The guess weighs every candidate encoding by how likely the letters are that it gives: the non-ASCII letters of
each language in the order of their frequency, and the commonest characters of Chinese, Japanese and Korean. A short
French text in Latin-1 is then not read as Czech, which is what statistics of whole texts alone do. charset-normalizer
is asked when no candidate fits. What cannot be decoded is never replaced silently: see `Decoded.warning`.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from qwen_agentkit.rag.letters import BYTE_LANGUAGES, ByteScorer, pair_score

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Escape sequences of the 7-bit encodings, whose bytes are all valid UTF-8.
_SEVEN_BIT = (
    (re.compile(rb"\x1b\$[@B]|\x1b\(J|\x1b\$\(D"), "iso2022_jp_2"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
)
_SEVEN_BIT_NAMES = {"hz", "utf-7", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_3", "iso2022_kr"}
_PAIR_ENCODINGS = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
_UTF16_ENCODINGS = ("utf-16-le", "utf-16-be")
# What browsers take these names for (WHATWG Encoding): the name is of the subset, the file has the superset.
_WIDER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "iso8859-9": "cp1254"}
_WIDER |= {"euc_kr": "cp949", "shift_jis": "cp932", "big5": "big5hkscs", "iso8859-11": "cp874", "tis-620": "cp874"}

_SAMPLE_BYTES = 16_000  # of lines with non-ASCII bytes; enough for a stable mean, a few ms a candidate
_LONGEST_LINE = 10_000
_DOUBTFUL = -8.5  # mean log2 likelihood a non-ASCII byte below which no candidate fits
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HIGH = re.compile(rb"[\x80-\xff]")


@dataclass(frozen=True)
class Decoded:
    """Text of a file with the encoding that gave it.

    Args:
        text: The text, without byte-order mark.
        encoding: Python's name of the encoding.
        warning: None, or what could not be decoded and how often, for a person.
    """

    text: str
    encoding: str
    warning: str | None = None


def decode(data: bytes, *, declared: str | None = None) -> Decoded:
    """Decodes the bytes of a text.

    Args:
        data: The bytes of the whole text; a mark at the end counts as much as one at the beginning.
        declared: Name of the encoding by a header, a meta element or a user. It is believed unless the bytes say
            otherwise (a byte-order mark, text that is valid UTF-8 with non-ASCII letters, bytes it cannot hold).

    Returns:
        The text and the encoding. Bytes that cannot be decoded become U+FFFD and are counted in `warning`.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _lenient(data, name)
    named = python_name(declared)
    if named in _SEVEN_BIT_NAMES and data.isascii():
        return _lenient(data, named)
    wide = _by_nul_pattern(data)
    if wide is not None:
        return _lenient(data, wide)
    if _may_be_utf16(data):
        return _guess(data)
    if data.isascii():
        for pattern, name in _SEVEN_BIT:
            if pattern.search(data) and (text := _strict(data, name)) is not None:
                return Decoded(text, name)
        return Decoded(data.decode("ascii"), "utf-8")
    text = _strict(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    if _is_damaged_utf8(data):
        return _lenient(data, "utf-8")
    if named is not None and named not in ("utf-8", "utf-8-sig") and (text := _strict(data, named)) is not None:
        return Decoded(text, named)
    return _guess(data)


def python_name(declared: str | None) -> str | None:
    """Python's name of an encoding named by a file, as browsers understand the name; None when unknown.

    Args:
        declared: A name such as `GB2312`, `x-sjis` or `windows-1251`; None is allowed.
    """
    if not declared:
        return None
    name = declared.strip().strip("\"'").lower()
    name = {"x-sjis": "cp932", "unicode": "utf-16", "x-gbk": "gb18030", "x-user-defined": ""}.get(name, name)
    try:
        info = codecs.lookup(name.removeprefix("x-"))
    except LookupError:
        return None
    if not getattr(info, "_is_text_encoding", True):
        return None
    return _WIDER.get(info.name, info.name)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, UnicodeError):
        return None


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = _strict(data, encoding)
    if text is not None:
        return Decoded(text, encoding)
    text = data.decode(encoding, errors="replace")
    count = text.count("\ufffd")
    return Decoded(text, encoding, f"{count} places could not be decoded as {encoding} and are shown as \ufffd")


def _by_nul_pattern(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, recognised by where the zero bytes of ASCII characters stand."""
    sample = data[:4096]
    sample = sample[: len(sample) // 4 * 4]
    zeros = sample.count(0)
    if len(sample) < 4 or zeros * 5 < len(sample):
        return None
    by_place = [sample[place::4].count(0) for place in range(4)]
    quarter = len(sample) // 4
    if by_place[3] == quarter and by_place[2] > quarter * 0.9 and not by_place[0]:
        return "utf-32-le"
    if by_place[0] == quarter and by_place[1] > quarter * 0.9 and not by_place[3]:
        return "utf-32-be"
    even, odd = by_place[0] + by_place[2], by_place[1] + by_place[3]
    if odd > even * 10:
        return "utf-16-le"
    if even > odd * 10:
        return "utf-16-be"
    return None


def _may_be_utf16(data: bytes) -> bool:
    """True for an even number of bytes with more control codes than any text of one-byte letters has."""
    sample = data[:4096]
    return len(data) % 2 == 0 and len(_CONTROLS.findall(sample)) * 25 > len(sample)


def _is_damaged_utf8(data: bytes) -> bool:
    """True when nearly all non-ASCII bytes form UTF-8 sequences: a cut file, or one with a few foreign bytes."""
    text = data.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    good = sum(1 for character in text if character > "\x7f") - bad
    return good >= 4 and good >= bad * 8


def _sample(data: bytes) -> bytes:
    """Lines with non-ASCII bytes from anywhere in the data, about `_SAMPLE_BYTES` of them."""
    parts: list[bytes] = []
    size = at = 0
    while size < _SAMPLE_BYTES and (match := _HIGH.search(data, at)):
        found = match.start()
        start = data.rfind(b"\n", max(at, found - _LONGEST_LINE), found) + 1 or max(at, found - _LONGEST_LINE)
        end = data.find(b"\n", found, found + _LONGEST_LINE) + 1 or min(len(data), found + _LONGEST_LINE)
        parts.append(data[start:end])
        size += end - start
        at = end
    return b"".join(parts)


def _guess(data: bytes) -> Decoded:
    sample = _sample(data)
    high_bytes = len(_HIGH.findall(sample)) or 1
    rated: list[tuple[float, str]] = []
    for encoding in _PAIR_ENCODINGS:
        text = _decoded_sample(sample, encoding)
        if text is not None:
            rated.append((pair_score(text, encoding) / high_bytes, encoding))
    if len(data) % 2 == 0 and _CONTROLS.search(data[:_SAMPLE_BYTES]):
        for encoding in _UTF16_ENCODINGS:
            text = _decoded_sample(data[:_SAMPLE_BYTES], encoding)
            if text is not None:
                rated.append((pair_score(text, encoding) / max(1, min(len(data), _SAMPLE_BYTES)), encoding))
    for encoding in BYTE_LANGUAGES:
        rated.append((ByteScorer.of(encoding).score(sample) / high_bytes, encoding))
    rated.sort(key=lambda pair: -pair[0])  # stable: the first named of equals stays first
    best_score, best = rated[0]
    if best_score < _DOUBTFUL:
        by_statistics = _ask_charset_normalizer(data)
        if by_statistics is not None:
            return by_statistics
    for score, encoding in rated:
        if score < best_score - 3:
            break
        text = _strict(data, encoding)
        if text is not None:
            return Decoded(text, encoding)
    return _lenient(data, best)


def _decoded_sample(sample: bytes, encoding: str) -> str | None:
    """The sample decoded; None when more than one place in a hundred is not valid."""
    text = _strict(sample, encoding)
    if text is not None:
        return text
    text = sample.decode(encoding, errors="replace")
    return text if text.count("\ufffd") * 100 < len(text) else None


def _ask_charset_normalizer(data: bytes) -> Decoded | None:
    from charset_normalizer import from_bytes

    best = from_bytes(data[: _SAMPLE_BYTES * 10]).best()
    if best is None or best.encoding == "ascii":
        return None
    text = _strict(data, best.encoding)
    return None if text is None else Decoded(text, best.encoding)
