"""Reading files on other machines: a Ray cluster, or anything with the interface of `concurrent.futures.Executor`.

A task reads a handful of files with the worker processes of its own machine, so the limits on time and memory hold
there too, cuts them into chunks and sends these home; the index is written by its one writer, as always. The machines
must see the files under the same paths and have this package installed. A file that a machine does not see is read at
home.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from qwen_agentkit.errors import DocParserError
from qwen_agentkit.log import logger
from qwen_agentkit.rag.ingest import Read, read_files
from qwen_agentkit.rag.workers import ReadProgress
from qwen_agentkit.utils.optional import need

# Files of one task: enough that sending it is cheap, few enough that the last tasks end together.
_FILES = 8
# Tasks that wait at the cluster for each of its cores; more would only hold memory.
_TASKS_A_CORE = 4
_CORES_UNKNOWN = 16
_POLL_SECONDS = 0.2
_NOT_THERE = "the file is not visible on the machine that was to read it"

Result = tuple[str, Read | DocParserError | None]


class Spreader(Protocol):
    """What `add(executor=...)` takes: `concurrent.futures.Executor` has it, as have those of Dask and MPI."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Has a function called somewhere; its result comes by the future."""
        ...


class RayExecutor:
    """The Ray cluster that this process is connected to; it connects to one, or starts one here, when it is not.

    Where to find a cluster is Ray's affair: `ray.init(address=...)` before, or the variable `RAY_ADDRESS`.

    Raises:
        MissingDependencyError: Ray is not installed.
    """

    def __init__(self) -> None:
        ray: Any = need("ray", extra="ray")
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self.cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # A task that dies with its machine is begun anew on another.
        self._call = ray.remote(max_retries=3)(_call)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Has a function called on some machine of the cluster."""
        return self._call.remote(function, *arguments).future()


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def get_executor(given: str | Spreader) -> Spreader:
    """Reads what `add` takes as `executor`.

    Raises:
        ValueError: It is neither `ray` nor has it `submit`.
        MissingDependencyError: Ray is not installed.
    """
    if isinstance(given, str):
        if given != "ray":
            raise ValueError(f"executor is 'ray' or an object with submit(function, *arguments), not {given!r}")
        return RayExecutor()
    if not callable(getattr(given, "submit", None)):
        raise ValueError(f"executor is 'ray' or an object with submit(function, *arguments), not {given!r}")
    return given


def read_part(
    files: Sequence[tuple[str, int]], chunk_tokens: int, overlap_tokens: int | None, reading: dict[str, Any]
) -> list[Result]:
    """The task: reads files on the machine where it runs.

    Args:
        files: (path, bytes) of each.
        chunk_tokens: As for `read_files`.
        overlap_tokens: As for `read_files`.
        reading: As for `read_files`.

    Returns:
        (path, what was read, or the error); None for a file that is not there, or has another size.
    """
    there = [path for path, size in files if _size(path) == size]
    results: list[Result] = [(path, None) for path, _ in files if path not in set(there)]
    results += read_files(
        there, chunk_tokens, overlap_tokens, cache=None, progress=None, cancelled=None, reading=reading
    )
    return results


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return -1


def read_spread(
    executor: Spreader,
    paths: Sequence[str],
    chunk_tokens: int,
    overlap_tokens: int | None,
    *,
    progress: Callable[[ReadProgress], None] | None,
    cancelled: Callable[[], bool] | None,
    reading: dict[str, Any],
    at_home: Callable[[Sequence[str]], Iterator[tuple[str, Read | DocParserError]]],
) -> Iterator[tuple[str, Read | DocParserError]]:
    """Reads files by an executor.

    Args:
        executor: Where the tasks run.
        paths: The files.
        chunk_tokens: As for `read_files`.
        overlap_tokens: As for `read_files`.
        progress: Called when a file is finished.
        cancelled: When true, no further task is begun and what has not ended is dropped.
        reading: As for `read_files`.
        at_home: Reads files on this machine: those that another one does not see, or whose task failed.

    Yields:
        As `read_files` does.
    """
    parts = [paths[first : first + _FILES] for first in range(0, len(paths), _FILES)]
    most = _TASKS_A_CORE * getattr(executor, "cores", _CORES_UNKNOWN)
    running: dict[Future[Any], Sequence[str]] = {}
    left: list[str] = []
    done = 0
    try:
        while parts or running:
            if cancelled is not None and cancelled():
                return
            while parts and len(running) < most:
                part = parts.pop(0)
                files = [(path, _size(path)) for path in part]
                running[executor.submit(read_part, files, chunk_tokens, overlap_tokens, reading)] = part
            for task in wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                part = running.pop(task)
                for path, result in _results(task, part):
                    if result is None:
                        left.append(path)
                        continue
                    done += 1
                    if progress is not None:
                        progress(ReadProgress(path, done, len(paths)))
                    yield path, result
    finally:
        for task in running:
            task.cancel()
    if left:
        logger.warning("%d files are read on this machine, the first %s: %s", len(left), left[0], _NOT_THERE)
        yield from at_home(left)


def _results(task: Future[Any], part: Sequence[str]) -> list[Result]:
    """What a task gave; nothing for each of its files when it failed, whatever the reason: then they are read here."""
    error = task.exception()
    if error is None:
        return task.result()
    logger.warning("a task that was to read %s and others failed: %s", part[0], error)
    return [(path, None) for path in part]
