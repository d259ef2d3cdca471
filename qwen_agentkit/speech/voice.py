"""`Voice`: the interface of text-to-speech."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Voice(Protocol):
    """Turns text into sound.

    Attributes:
        media_type: What the pieces are, as `audio/pcm;rate=24000` (16-bit, little-endian, mono).
    """

    media_type: str

    def speak(self, text: str) -> Iterator[bytes]:
        """The sound of one sentence, in pieces as they come.

        A run is current while this is called (`run_context.current_run()`): what blocks should end when its cancel
        token is cancelled, as `llm._transport` helps to.

        Args:
            text: A sentence, or a few short ones.

        Raises:
            Exception: The sentence cannot be spoken; the others are all the same.
        """
        ...
