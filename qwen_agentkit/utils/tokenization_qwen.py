"""Counts and cuts text in the tokens of Qwen's models.

The vocabulary is the one the dashscope package carries; it is read at first use. Without it (or without tiktoken)
the count is an estimate, and one warning says so. Text that spells a control token such as ``<|im_end|>`` is counted
as the plain text it is.
"""

from __future__ import annotations

import base64
import importlib.util
import os
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.log import logger

# How Qwen's byte-pair encoding splits text before merging (the pattern of the published tokenizer).
_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Longer texts are encoded in parts: tiktoken recurses over a part and may overflow the stack on a huge one.
_PART_CHARS = 50_000
# Where a text may be parted without changing its tokens: before the space in front of a word.
_PART_BREAK = re.compile(r"(?<=\S) (?=\S)")
# Counts remembered, by (length, hash): about 100 bytes each.
_MAX_REMEMBERED = 20_000
_ELLIPSIS = "..."

# The pieces an estimate counts: a letter group of a word, one digit, two CJK characters, a run of signs, of spaces.
_ESTIMATE = re.compile(r" ?[^\W\d_\u2e80-\ud7ff]{1,6}|[\u2e80-\ud7ff]{1,2}|\d| ?[^\s\w]{1,3}|_+|[^\S\n]+|\n+")


class QWenTokenizer:
    """Qwen's tokenizer: `count_tokens`, `tokenize`, `encode`, `decode`, `truncate`, `convert_tokens_to_string`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoding = None
        self._tried = False
        self._remembered: dict[tuple[int, int], int] = {}

    def count_tokens(self, text: str) -> int:
        """How many tokens `text` has. Repeated texts are looked up and not encoded again."""
        key = (len(text), hash(text))
        count = self._remembered.get(key)
        if count is None:
            encoding = self._load()
            if encoding is None:
                count = sum(1 for _ in _ESTIMATE.finditer(text))
            else:
                count = sum(len(encoding.encode_ordinary(part)) for part in _parts(_composed(text)))
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered = {}
            self._remembered[key] = count
        return count

    def encode(self, text: str) -> list[int]:
        """The token ids of `text`.

        Raises:
            MissingDependencyError: The vocabulary is not installed; ids cannot be estimated.
        """
        encoding = self._load()
        if encoding is None:
            raise MissingDependencyError("Token ids need Qwen's vocabulary. Install it with: pip install dashscope")
        return [token for part in _parts(_composed(text)) for token in encoding.encode_ordinary(part)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids; a character that the ids hold only in part is left out."""
        encoding = self._load()
        if encoding is None:
            raise MissingDependencyError("Token ids need Qwen's vocabulary. Install it with: pip install dashscope")
        return self.convert_tokens_to_string(encoding.decode_tokens_bytes(list(ids)))

    def tokenize(self, text: str) -> list[bytes]:
        """The tokens of `text`, each as its UTF-8 bytes (a token may be a part of a character)."""
        encoding = self._load()
        if encoding is None:
            return [match.group().encode("utf-8", "surrogatepass") for match in _ESTIMATE.finditer(text)]
        return encoding.decode_tokens_bytes(self.encode(text))

    def convert_tokens_to_string(self, tokens: Iterable[bytes | str]) -> str:
        """Joins tokens to text; a character cut through at either end is left out, never replaced by U+FFFD."""
        joined = b"".join(token if isinstance(token, bytes) else token.encode() for token in tokens)
        return joined.decode("utf-8", errors="ignore")

    def truncate(self, text: str, max_token: int, start_token: int = 0, keep_both_sides: bool = False) -> str:
        """Cuts `text` to at most `max_token` tokens.

        Args:
            text: The text.
            max_token: Tokens to keep; 0 or less keeps nothing.
            start_token: Tokens to skip at the front first.
            keep_both_sides: Keep the beginning and the end with ``...`` between them, rather than the beginning.
        """
        max_token = int(max_token)
        if max_token <= 0:
            return ""
        if start_token <= 0 and len(text) <= max_token and text.isascii():
            return text  # a token is at least one byte
        tokens = self.tokenize(text)[max(0, start_token) :]
        if len(tokens) <= max_token:
            return text if start_token <= 0 else self.convert_tokens_to_string(tokens)
        ellipsis = self.tokenize(_ELLIPSIS)
        room = max_token - len(ellipsis)
        if not keep_both_sides or room <= 0:
            return self.convert_tokens_to_string(tokens[:max_token])
        head, tail = tokens[: room // 2], tokens[len(tokens) - (room - room // 2) :]
        return self.convert_tokens_to_string(head) + _ELLIPSIS + self.convert_tokens_to_string(tail)

    def _load(self):
        if not self._tried:
            with self._lock:
                if not self._tried:
                    self._encoding = _read_encoding()
                    self._tried = True
        return self._encoding

    def __reduce__(self):  # a copy reads its vocabulary itself
        return type(self), ()


def _read_encoding():
    """tiktoken's encoding over the vocabulary of dashscope; None, with one warning, where either is absent."""
    try:
        import tiktoken

        # find_spec does not import dashscope, which takes seconds.
        spec = importlib.util.find_spec("dashscope")
        if spec is None or not spec.submodule_search_locations:
            raise ImportError("dashscope is not installed")
        place = os.path.join(next(iter(spec.submodule_search_locations)), "resources", "qwen.tiktoken")
        data = spec.loader.get_data(place)  # type: ignore[union-attr]
    except (ImportError, OSError) as error:
        logger.warning("Token counts are estimates, since Qwen's vocabulary cannot be read: %s", error)
        return None
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}
    return tiktoken.Encoding("qwen", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def _composed(text: str) -> str:
    if text.isascii():
        return text
    # A lone surrogate is no text; tiktoken refuses it, so it is counted as a sign of its own.
    return unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode("utf-8")


def _parts(text: str) -> Iterator[str]:
    """`text` in parts of bounded length, parted where no token crosses."""
    start = 0
    while len(text) - start > _PART_CHARS:
        end = start + _PART_CHARS
        found = _PART_BREAK.search(text, end, min(end + _PART_CHARS, len(text)))
        end = found.start() if found else end
        yield text[start:end]
        start = end
    yield text[start:] if start else text


tokenizer = QWenTokenizer()


def count_tokens(text: str) -> int:
    """How many tokens of Qwen's vocabulary `text` has (an estimate where the vocabulary is not installed)."""
    return tokenizer.count_tokens(text)


def tokenize(text: str) -> list[bytes]:
    """The tokens of `text`, as bytes."""
    return tokenizer.tokenize(text)
