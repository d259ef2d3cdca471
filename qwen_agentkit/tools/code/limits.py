"""What one sandbox may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use.

    Args:
        memory: Bytes of memory, all its processes together.
        processes: How many of them.
        folder: Bytes that its work folder may grow by, and of one file.
        idle: Seconds without a cell after which it is ended.
        cpus: Processors, in a container.
    """

    memory: int = 2_000_000_000
    processes: int = 64
    folder: int = 1_000_000_000
    idle: float = 1800.0
    cpus: float = 2.0
