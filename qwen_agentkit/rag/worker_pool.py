"""Worker processes that wait for the next call, at most one a core."""

from __future__ import annotations

import atexit
import os
import threading

from qwen_agentkit.rag.worker_process import WorkerProcess


def worker_count() -> int:
    """Workers that may run at once: one for each core that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every system
        return max(1, os.cpu_count() or 1)


class WorkerPool:
    """Workers that wait for the next call."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()

    def take_waiting(self, memory: int) -> WorkerProcess | None:
        """A waiting worker with that memory limit, if there is one."""
        with self._lock:
            for worker in self._idle:
                if worker.memory == memory and worker.is_alive():
                    self._idle.remove(worker)
                    return worker
        return None

    def take(self, memory: int) -> WorkerProcess:
        """A waiting worker with that memory limit, or a new one."""
        return self.take_waiting(memory) or WorkerProcess(memory)

    def give_back(self, worker: WorkerProcess) -> None:
        """Keeps a worker for the next call, where it is alive and there are not enough."""
        with self._lock:
            gone = [other for other in self._idle if not other.is_alive()]
            self._idle = [other for other in self._idle if other.is_alive()]
            if worker.is_alive() and len(self._idle) < worker_count():
                self._idle.append(worker)
            else:
                gone.append(worker)
        for other in gone:
            other.close()

    def close(self) -> None:
        """Ends all waiting workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()


_pools: list[WorkerPool] = []
_pools_lock = threading.Lock()


def pool() -> WorkerPool:
    """The pool of this process; after a fork the child makes its own."""
    with _pools_lock:
        if not _pools or _pools[-1].pid != os.getpid():
            if not _pools:
                atexit.register(close_workers)
            _pools[:] = [WorkerPool()]
        return _pools[-1]


def close_workers() -> None:
    """Ends the worker processes that wait for files; the next call starts new ones."""
    with _pools_lock:
        current = _pools[-1] if _pools else None
    if current is not None and current.pid == os.getpid():
        current.close()
