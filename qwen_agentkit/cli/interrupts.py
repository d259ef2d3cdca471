"""Ctrl-C while an answer is being made: the first stops the answer, the second the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from qwen_agentkit.cancel import CancelToken


@contextmanager
def stopping(token: CancelToken) -> Iterator[None]:
    """Inside the block, SIGINT cancels `token`; a second one raises KeyboardInterrupt.

    To be used in the main thread. The handler that was there before is put back at the end.
    """

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if token.cancelled:
            raise KeyboardInterrupt
        # In a thread of its own: the interrupted code may hold the very locks that cancelling needs.
        threading.Thread(target=token.cancel, args=("stopped by Ctrl-C",), daemon=True).start()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
