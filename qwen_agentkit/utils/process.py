"""Signals of the process, the exception at hand, and this machine's address."""

from __future__ import annotations

import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from qwen_agentkit.log import logger


def append_signal_handler(sig: int, handler: Callable[..., Any]) -> None:
    """Installs a signal handler that runs before the one that is there; that one (or the default) still runs."""
    before = signal.getsignal(sig)

    def both(number: int, frame: Any) -> None:
        handler(number, frame)
        if callable(before):
            before(number, frame)
        elif before is not signal.SIG_IGN:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + number)

    signal.signal(sig, both)


def get_local_ip() -> str:
    """The address under which this machine is seen in its network; 127.0.0.1 without one. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def print_traceback(is_error: bool = True) -> None:
    """Writes the exception that is being handled to the log."""
    text = "".join(traceback.format_exception(*sys.exc_info(), limit=3))
    if is_error:
        logger.error(text)
    else:
        logger.warning(text)
