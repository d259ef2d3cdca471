"""The arguments of a call in the text while they are written, for those who watch a run.

A call enters the reply when it is whole; what is told here before is a look ahead, which nothing else depends on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from qwen_agentkit.llm.dialects.calls import ARGUMENT_KEYS, NAME_KEYS, ToolNames
from qwen_agentkit.llm.dialects.marks import FUNCTION_OPEN, MAX_NAME
from qwen_agentkit.llm.dialects.region import Region
from qwen_agentkit.llm.json_scan import JsonScanner
from qwen_agentkit.utils.ids import new_call_id

_NAME = re.compile(rf"""["'](?:{"|".join(NAME_KEYS)})["']\s*:\s*["']([^"']+)["']""")
_ARGUMENTS = re.compile(rf"""["'](?:{"|".join(ARGUMENT_KEYS)})["']\s*:\s*(?=\{{)""")


@dataclass(frozen=True, slots=True)
class ArgumentsPiece:
    """Text that was added to a call's arguments, as the model writes it.

    Args:
        call_id: The id that the call's message will have.
        name: Name of the tool.
        text: The further text.
        offset: Characters of the arguments before it.
    """

    call_id: str
    name: str
    text: str
    offset: int


class CallWatch:
    """Follows the calls in a text. Only calls of offered tools are told of, and of several in one tag the first."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._pieces: list[ArgumentsPiece] = []
        self._region: Region | None = None
        self._begin()

    def _begin(self) -> None:
        self._seen = 0
        self._head = ""
        self._over = False
        self._call_id: str | None = None
        self._name = ""
        self._offset = 0
        self._json: JsonScanner | None = None

    def take(self) -> list[ArgumentsPiece]:
        """What is new since the last time."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def grown(self, region: Region) -> None:
        """Looks at what a region has gathered since the last time."""
        if region is not self._region:
            self._region = region
            self._begin()
        new = "".join(region.pieces[self._seen :])
        self._seen = len(region.pieces)
        if not new or self._over:
            return
        if self._call_id is None:
            self._head += new
            start = self._start_of_arguments(region)
            if start is None:
                self._over = len(self._head) > 2 * MAX_NAME
                return
            new, self._head = self._head[start:], ""
            self._call_id = new_call_id()
            self._json = JsonScanner() if new[:1] == "{" else None
        self._tell(new)

    def id_of(self, region: Region) -> str | None:
        """The id under which a region's call was told of, None when it was not."""
        return self._call_id if region is self._region else None

    def _start_of_arguments(self, region: Region) -> int | None:
        """Where the arguments begin in what was gathered, once the tool's name is known; sets the name."""
        head = self._head
        if region.kind in ("qwen", "react"):
            name, start = region.name, 0
        else:
            opened = FUNCTION_OPEN.match(head.lstrip())
            arguments = _ARGUMENTS.search(head) if opened is None else None
            named = _NAME.search(head, 0, arguments.start()) if arguments is not None else None
            if opened is not None:
                name, start = opened[1], len(head) - len(head.lstrip()) + opened.end()
            elif arguments is not None and named is not None:
                name, start = named[1], arguments.end()
            else:
                return None
        known = self._names.resolve(name)
        if known is None or start >= len(head):
            self._over = known is None
            return None
        self._name = known
        return start

    def _tell(self, text: str) -> None:
        if self._json is not None:
            text = text[: self._json.scan(text, 0, len(text))]
            self._over = self._json.done
        if text and self._call_id is not None:
            self._pieces.append(ArgumentsPiece(self._call_id, self._name, text, self._offset))
            self._offset += len(text)
