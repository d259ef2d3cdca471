"""What an agent says to its user, as one growing text: the form that chat protocols want."""

from __future__ import annotations

from collections.abc import Sequence

from qwen_agentkit.schema import ASSISTANT, Message
from qwen_agentkit.utils.message_text import text_of

TEXT = "text"
REASONING = "reasoning"
_BETWEEN = "\n\n"


class AnswerText:
    """Follows the yields of a run and says what was added to the text and to the thinking.

    The texts of several messages stand one below the other. A message that no longer begins as it did (a router
    overwrote it, say) is said again as a whole, since what was sent cannot be taken back.

    Args:
        with_names: Whether a text is headed by its speaker's name when the speaker changes, as in a team.
    """

    def __init__(self, with_names: bool = False) -> None:
        self._with_names = with_names
        self._seen: list[Message] = []
        self._begun: set[str] = set()
        self._speaker: str | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self._pieces)

    def grow(self, response: Sequence[Message]) -> list[tuple[str, str]]:
        """What a yield adds, in order: pairs of `text` or `reasoning` and the piece."""
        pieces: list[tuple[str, str]] = []
        for index, message in enumerate(response):
            before = self._seen[index] if index < len(self._seen) else None
            if before is message or message.role != ASSISTANT:
                continue
            thought = (before.reasoning_content or "") if before else ""
            self._add(pieces, REASONING, thought, message.reasoning_content or "", message)
            self._add(pieces, TEXT, _text(before) if before else "", _text(message), message)
        self._seen = list(response)
        return pieces

    def _add(self, pieces: list[tuple[str, str]], kind: str, old: str, new: str, message: Message) -> None:
        if new == old or not new:
            return
        if old and new.startswith(old):
            piece = new[len(old) :]
        else:
            piece = (_BETWEEN if kind in self._begun else "") + self._head(kind, message) + new
        self._begun.add(kind)
        if kind == TEXT:
            self._pieces.append(piece)
        pieces.append((kind, piece))

    def _head(self, kind: str, message: Message) -> str:
        if not self._with_names or kind != TEXT or not message.name or message.name == self._speaker:
            return ""
        self._speaker = message.name
        return f"{message.name}: "


def answer_of(response: Sequence[Message], with_names: bool = False) -> str:
    """The text of a whole response."""
    said = AnswerText(with_names)
    said.grow(response)
    return said.text


def _text(message: Message) -> str:
    return "" if message.function_call is not None else text_of(message)
