"""`SpokenSentences`: cuts growing text into sentences, each as soon as it is complete."""

from __future__ import annotations

from qwen_agentkit.utils.text.sentences import split_sentences

SHORTEST = 10

# Signs after which a sentence is over whatever follows.
_ENDS = frozenset("。！？；｡")
_CLOSERS = "\"'”’」』】）)]》〉»"


class SpokenSentences:
    """Takes text as it comes and gives whole sentences, in order.

    A sentence is complete when the next one has begun, since "3." may go on as "3.14", or when it ends with a sign
    that cannot go on. One that is too short to be worth a request is said together with the next.

    Args:
        shortest: Characters that a piece has at least, the last one apart.
    """

    def __init__(self, shortest: int = SHORTEST) -> None:
        if isinstance(shortest, bool) or not isinstance(shortest, int) or shortest < 1:
            raise ValueError(f"shortest is a number of characters of at least 1, not {shortest!r}")
        self._shortest = shortest
        self._text = ""

    def feed(self, text: str) -> list[str]:
        """Takes more text; the pieces that are complete now."""
        self._text += text
        return self._take(complete=False)

    def pause(self) -> list[str]:
        """Nothing more has come for a while: what looks complete is taken for it.

        A dot after a digit is left waiting, because a number may go on.
        """
        waiting = self._text.rstrip()
        bare = waiting.rstrip(_CLOSERS)
        if not bare or bare[-1] not in ".!?…" or (bare[-1] == "." and bare[-2:-1].isdigit()):
            return []
        # With a capital after it, is it the end of a sentence? Abbreviations are none.
        probe = f"{waiting} A"
        spans = split_sentences(probe)
        if spans[-1] != (len(probe) - 1, len(probe)):
            return []
        return self._take(complete=True) if len(waiting.strip()) >= self._shortest else []

    def flush(self) -> list[str]:
        """The text has ended; the rest."""
        rest = self._take(complete=True)
        last, self._text = self._text.strip(), ""
        return [*rest, last] if last else rest

    def _take(self, complete: bool) -> list[str]:
        spans = split_sentences(self._text)
        if spans and not complete and not self._is_over(spans[-1][1]):
            spans.pop()
        pieces: list[str] = []
        begin: int | None = None
        taken = 0
        for start, end in spans:
            begin = start if begin is None else begin
            if end - begin >= self._shortest:
                pieces.append(self._text[begin:end])
                begin, taken = None, end
        self._text = self._text[taken:]
        return pieces

    def _is_over(self, end: int) -> bool:
        said = self._text[:end].rstrip(_CLOSERS)
        return bool(said) and (said[-1] in _ENDS or self._text[end:].count("\n") >= 2)
