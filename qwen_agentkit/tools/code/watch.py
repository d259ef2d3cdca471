"""What the processes of a sandbox use, seen from outside."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Use:
    """Processes under a process, itself included, and bytes of memory that they hold together."""

    processes: int
    memory: int


def use_of(root: int) -> Use:
    """What a process and everything that it started use. Zero where the system has no /proc."""
    parents: dict[int, list[int]] = {}
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return Use(0, 0)
    for pid in pids:
        parent = _parent(pid)
        if parent is not None:
            parents.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += parents.get(pid, ())
    return Use(len(found), sum(_memory(pid) for pid in found))


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            # The name in brackets may hold anything, brackets and spaces too.
            return int(stream.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None  # it has ended


def _memory(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as stream:
            resident, shared = stream.read().split()[1:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def folder_bytes(folder: str) -> int:
    """Bytes of all files in a folder, links not followed."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                continue  # it was removed a moment ago
    return total
