"""Results that are too large for a prompt: kept in a file, shown by their start, read page by page.

    store = LargeResults()
    text = store.fit(result, call_id="call_1", lang="en")   # the result itself, or a preview and a notice
    store.tool()                                            # read_tool_result, for the model

Positions are counted in tokens. They rest on units of text of at most a few dozen characters, each counted by
itself, so they are the same in every process, a page never splits a character, and pages put together are the
text exactly.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.log import logger
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.tools.base import BaseTool
from qwen_agentkit.utils.files import write_atomically
from qwen_agentkit.utils.tokenization_qwen import count_tokens

READ_TOOL = "read_tool_result"
# Tokens over which a result is kept in a file, and tokens of its preview.
LIMIT_TOKENS = 27_500
PREVIEW_TOKENS = 7_000
# Tokens of one page: what the model asks for is cut to the second.
DEFAULT_PAGE_TOKENS = 4_000
MAX_PAGE_TOKENS = 20_000

# A token has at least one byte and, with a vocabulary of natural language, hardly ever more than this many
# characters: shorter texts cannot be over the limit and are not counted.
_MIN_CHARS_PER_TOKEN = 0.25
_UNIT_CHARS = 48
_UNIT = re.compile(rf"\s*\S{{1,{_UNIT_CHARS}}}|\s+")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}_[0-9a-f]{32}")
_REMEMBERED_TEXTS = 8

_NOTICE = {
    "en": "\n\n[This result has about {total} tokens; above are the first {shown}. The whole of it is kept. "
    'Read on with {tool}(result="{name}", offset={shown}, limit={limit}); offset and limit count tokens.]',
    "zh": "\n\n[此结果约有 {total} 个 token，以上是开头的 {shown} 个，全文已保存。继续阅读请调用 "
    '{tool}(result="{name}", offset={shown}, limit={limit})，offset 与 limit 以 token 计。]',
}
_FAILED = {
    "en": "\n\n[This result has about {total} tokens; above are the first {shown}. The rest could not be kept "
    "({reason}) and cannot be read; ask for less at once.]",
    "zh": "\n\n[此结果约有 {total} 个 token，以上是开头的 {shown} 个。"
    "其余部分未能保存（{reason}），无法读取；请缩小请求范围。]",
}


class LargeResults:
    """The store of large results of one conversation.

    Args:
        folder: Where the files go; the default is `tools/large_results` in the workspace. Give each user or
            conversation a folder of its own where they must not read each other's results.
        limit: Tokens over which a result is kept.
        preview: Tokens of it that the model gets at once.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, limit: int = LIMIT_TOKENS, preview: int = PREVIEW_TOKENS
    ) -> None:
        if limit < 1 or not 0 <= preview <= limit:
            raise ValueError(f"A preview lies between 0 and the limit; given preview={preview}, limit={limit}")
        self._folder = Path(folder) if folder is not None else None
        self.limit = limit
        self.preview = preview
        self._lock = threading.Lock()
        self._positions: OrderedDict[tuple[str, int], _Positions] = OrderedDict()

    @property
    def folder(self) -> Path:
        return self._folder or Path(settings.DEFAULT_WORKSPACE, "tools", "large_results")

    def fit(self, content: str | list[ContentItem], call_id: str = "call", lang: str = "en") -> str | list[ContentItem]:
        """The content itself when it fits, else a preview with a notice of how to read on.

        Args:
            content: What a tool gave. In a list each text is judged by itself; pictures stay.
            call_id: Id of the call; it becomes part of the file's name.
            lang: Language of the notice, `en` or `zh`.

        Returns:
            Text or content items. When the file cannot be written, the preview and the reason.
        """
        if isinstance(content, str):
            return self._fit_text(content, call_id, lang)
        return [
            item if item.text is None else ContentItem(text=self._fit_text(item.text, call_id, lang))
            for item in content
        ]

    def _fit_text(self, text: str, call_id: str, lang: str) -> str:
        if len(text) < self.limit * _MIN_CHARS_PER_TOKEN or count_tokens(text) <= self.limit:
            return text
        positions = _Positions(text)
        end, shown = positions.cut(self.preview)
        words = {"total": positions.total, "shown": shown, "tool": READ_TOOL, "limit": DEFAULT_PAGE_TOKENS}
        name = f"{_safe(call_id)}_{secrets.token_hex(16)}"
        try:
            write_atomically(self.folder / f"{name}.txt", text)
        except OSError as error:
            logger.warning("A large result could not be kept in %s: %s", self.folder, error)
            reason = error.strerror or type(error).__name__
            return text[:end] + _FAILED.get(lang, _FAILED["en"]).format(**words, reason=reason)
        return text[:end] + _NOTICE.get(lang, _NOTICE["en"]).format(**words, name=name)

    def read(self, name: str, offset: int = 0, limit: int = DEFAULT_PAGE_TOKENS) -> tuple[str, int, int]:
        """A page of a kept result.

        Args:
            name: Its name, as the notice gives it.
            offset: Tokens to skip.
            limit: Tokens to read.

        Returns:
            The text, the offset at which the next page begins, and the number of tokens in all.

        Raises:
            ToolArgumentsError: There is no such result here, or the numbers are none.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolArgumentsError(f"{READ_TOOL}: {name!r} is not the name of a kept result")
        if offset < 0 or limit < 1:
            raise ToolArgumentsError(f"{READ_TOOL}: offset is at least 0 and limit at least 1")
        path = self.folder / f"{name}.txt"
        try:
            if path.is_symlink():
                raise FileNotFoundError(name)
            text = path.read_bytes().decode("utf-8", "surrogatepass")
        except FileNotFoundError:
            raise ToolArgumentsError(f"{READ_TOOL}: no result is kept under {name!r}") from None
        positions = self._positions_of(name, text)
        start, _ = positions.cut(offset)
        end, following = positions.cut(offset + limit, at_least=start)
        return text[start:end], following, positions.total

    def _positions_of(self, name: str, text: str) -> _Positions:
        key = (name, len(text))
        with self._lock:
            held = self._positions.get(key)
            if held is not None:
                self._positions.move_to_end(key)
                return held
        made = _Positions(text)
        with self._lock:
            self._positions[key] = made
            while len(self._positions) > _REMEMBERED_TEXTS:
                self._positions.popitem(last=False)
        return made

    def tool(self) -> ReadToolResult:
        """The tool with which a model reads on; it reads kept results of this store and nothing else."""
        return ReadToolResult(self)

    @staticmethod
    def is_needed(messages: Iterable[Message]) -> bool:
        """Whether a conversation speaks of a kept result, so that its agent must offer the tool.

        True also of a summary that names one, and of a conversation that was loaded again.
        """
        return any(READ_TOOL in text for message in messages for text in _texts(message))

    def __deepcopy__(self, memo: dict[int, Any]) -> LargeResults:
        return LargeResults(self._folder, self.limit, self.preview)

    def __reduce__(self):
        return LargeResults, (self._folder, self.limit, self.preview)


class ReadToolResult(BaseTool):
    """Reads a kept result page by page.

    Args:
        store: Where it is kept.
    """

    name = READ_TOOL
    description = (
        "Reads on in a tool result that was too long to be shown whole. The notice at the end of what was shown "
        "gives the name and the offset."
    )
    parameters = {
        "type": "object",
        "properties": {
            "result": {"type": "string", "description": "Name of the kept result, from the notice."},
            "offset": {"type": "integer", "description": "Tokens to skip.", "default": 0, "minimum": 0},
            "limit": {
                "type": "integer",
                "description": f"Tokens to read, at most {MAX_PAGE_TOKENS}.",
                "default": DEFAULT_PAGE_TOKENS,
                "minimum": 1,
            },
        },
        "required": ["result"],
    }

    def __init__(self, store: LargeResults) -> None:
        super().__init__()
        self._store = store

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """One page, with a line that says where the next begins.

        Raises:
            ToolArgumentsError: There is no such result.
        """
        arguments = self._verify_json_format_args(params)
        # A page must never itself be too large to be shown.
        limit = min(arguments.get("limit", DEFAULT_PAGE_TOKENS), MAX_PAGE_TOKENS, self._store.limit)
        text, following, total = self._store.read(arguments["result"], arguments.get("offset", 0), limit)
        if following >= total:
            return f"{text}\n\n[end of the result, {total} tokens]"
        return f"{text}\n\n[tokens up to {following} of {total}; the next page has offset={following}]"


class _Positions:
    """Where in a text each number of tokens is reached."""

    def __init__(self, text: str) -> None:
        ends: list[int] = []
        counts: list[int] = []
        for unit in _UNIT.finditer(text):
            # A run of spaces of any length is cut like everything else.
            for end in range(unit.start() + _UNIT_CHARS * 2, unit.end(), _UNIT_CHARS * 2):
                counts.append(count_tokens(text[end - _UNIT_CHARS * 2 : end]))
                ends.append(end)
            start = ends[-1] if ends else 0
            counts.append(count_tokens(text[start : unit.end()]))
            ends.append(unit.end())
        self._ends = ends
        self._reached = list(accumulate(counts))

    @property
    def total(self) -> int:
        return self._reached[-1] if self._reached else 0

    def cut(self, tokens: int, at_least: int = -1) -> tuple[int, int]:
        """The end of the last whole unit within `tokens`: its character, and the tokens up to there.

        With `at_least`, one unit more than that character is taken even if it does not fit, so that every page
        moves on.
        """
        position = bisect_left(self._reached, tokens + 1) - 1
        if position >= 0 and self._ends[position] > at_least:
            return self._ends[position], self._reached[position]
        if at_least < 0 or not self._ends:
            return 0, 0
        position = min(bisect_left(self._ends, at_least + 1), len(self._ends) - 1)
        return self._ends[position], self._reached[position]


def _safe(call_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "", call_id)[:40] or "call"


def _texts(message: Message) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [item.text for item in message.content if item.text is not None]
