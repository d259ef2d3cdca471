"""Reading documents in processes of their own: no file can crash, hang or fill the program that asks for it.

Workers (`qwen_agentkit.rag.worker`) live on between calls, at most one a core. They are plain subprocesses spoken to
over pipes, so a script needs no main guard and nothing of it is run twice.
"""

from __future__ import annotations

import atexit
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qwen_agentkit import errors, settings
from qwen_agentkit.errors import DamagedFile, DocParserError, LimitExceededInFile
from qwen_agentkit.log import logger
from qwen_agentkit.rag.cache import DocumentCache
from qwen_agentkit.rag.document import Block, Document
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.ocr import check_ocr
from qwen_agentkit.rag.worker import read_message, write_message

Result = Document | DocParserError

# Seconds in which a new worker must report that it is ready.
START_SECONDS = 60.0
_POLL_SECONDS = 0.1
_JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far `read_documents` is.

    Args:
        path: The file that this is about.
        files_done: Files that are finished.
        files: Files in all.
        pages_done: Pages of this file that are read; None where it is finished or has none.
        pages: Pages of this file.
    """

    path: str
    files_done: int
    files: int
    pages_done: int | None = None
    pages: int | None = None


def worker_count() -> int:
    """Workers that may run at once: one for each core that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every system
        return max(1, os.cpu_count() or 1)


def read_documents(
    paths: Iterable[str | os.PathLike[str]],
    *,
    password: str | Mapping[str, str] | None = None,
    engine: str = "auto",
    keep_images: bool = False,
    ocr: bool | str = False,
    limits: ReadLimits | None = None,
    seconds: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    cache: DocumentCache | None = None,
    progress: Callable[[ReadProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[tuple[str, Result]]:
    """Reads files in worker processes, several at once.

    Args:
        paths: The files.
        password: For encrypted files: one for all, or path -> password.
        engine: For PDF: `auto`, `pdfium` or `pdfminer`.
        keep_images: Pictures are kept.
        ocr: See `qwen_agentkit.rag.ocr.recognise`; a function must be given by its name, "package.module:function".
        limits: What reading a file may cost; None is `ReadLimits()`.
        seconds: The most that one file may take; None is `settings.DEFAULT_PARSE_SECONDS`.
        memory: Bytes that a worker may use beyond its own; None is `settings.DEFAULT_PARSE_MEMORY`.
        workers: Processes at once; None, and whatever is above it, is one a core.
        cache: Documents read before are taken from it, others are put into it.
        progress: Called in the caller's thread when a page count or a file count changes.
        cancelled: Asked about ten times a second; when true the generator ends and the files being read are dropped.

    Yields:
        (path as given, document or error), as each is finished. What was read before a time or memory limit is a
        document with a warning. A file that does not exist is a `DocParserError` too.

    Raises:
        ValueError: An option is none; raised at the call.
    """
    if engine not in ("auto", "pdfium", "pdfminer"):
        raise ValueError(f"engine is one of auto, pdfium, pdfminer; given {engine!r}.")
    if callable(ocr):
        raise ValueError("A function cannot be sent to a worker process; give ocr as 'package.module:function'.")
    check_ocr(ocr, load=False)
    for name, value in (("seconds", seconds), ("memory", memory), ("workers", workers)):
        if value is not None and value <= 0:
            raise ValueError(f"{name} is above 0 or None; given {value!r}.")
    options = {"engine": engine, "keep_images": keep_images, "ocr": ocr, "limits": asdict(limits or ReadLimits())}
    job = _Job(
        [os.fspath(path) for path in paths],
        options,
        password,
        float(seconds if seconds is not None else settings.DEFAULT_PARSE_SECONDS),
        int(memory if memory is not None else settings.DEFAULT_PARSE_MEMORY),
        cache,
    )
    count = min(workers or worker_count(), worker_count(), max(len(job.paths), 1))
    return job.run(count, progress, cancelled)


def read_document_in_worker(path: str | os.PathLike[str], **options: Any) -> Document:
    """Reads one file in a worker process.

    Args:
        path: The file.
        options: Those of `read_documents`.

    Raises:
        DocParserError: The file cannot be read.
    """
    for _, result in read_documents([path], **options):
        if isinstance(result, DocParserError):
            raise result
        return result
    raise DocParserError(message=f"{os.fspath(path)}: reading was cancelled")


class _Job:
    """One call of `read_documents`."""

    def __init__(
        self,
        paths: list[str],
        options: dict[str, Any],
        password: str | Mapping[str, str] | None,
        seconds: float,
        memory: int,
        cache: DocumentCache | None,
    ) -> None:
        self.paths, self.options, self.password = paths, options, password
        self.seconds, self.memory, self.cache = seconds, memory, cache
        self.waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.events: queue.SimpleQueue[tuple[str, Result | tuple[int, int]]] = queue.SimpleQueue()
        self.stopped = threading.Event()
        self.busy: set[_Worker] = set()
        self.lock = threading.Lock()

    def run(
        self,
        count: int,
        progress: Callable[[ReadProgress], None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> Iterator[tuple[str, Result]]:
        """The results as they come."""
        todo = []
        done = 0
        total = len(self.paths)
        for path in self.paths:
            result = self._from_cache(path)
            if result is None:
                todo.append(path)
                continue
            done += 1
            if progress is not None:
                progress(ReadProgress(path, done, total))
            yield path, result
        for path in todo:
            self.waiting.put(path)
        threads = [
            threading.Thread(target=self._serve, name="qwen_agentkit-reading", daemon=True)
            for _ in range(min(count, len(todo)))
        ]
        try:
            for thread in threads:
                thread.start()
            while done < total:
                if cancelled is not None and cancelled():
                    return
                try:
                    path, event = self.events.get(timeout=_POLL_SECONDS if cancelled is not None else None)
                except queue.Empty:
                    continue
                if isinstance(event, tuple):
                    if progress is not None:
                        progress(ReadProgress(path, done, total, *event))
                    continue
                done += 1
                if progress is not None:
                    progress(ReadProgress(path, done, total))
                yield path, event
        finally:
            self._stop()
            for thread in threads:  # their workers are back in the pool before the next call asks for one
                if thread.ident is not None:
                    thread.join(timeout=_JOIN_SECONDS)

    def _stop(self) -> None:
        """Nothing more is begun, and what is being read is given up."""
        self.stopped.set()
        with self.lock:
            for worker in self.busy:
                worker.kill()

    def _serve(self) -> None:
        """One thread, one worker: takes files until there are none."""
        worker: _Worker | None = None
        try:
            while not self.stopped.is_set():
                try:
                    path = self.waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    if worker is None or not worker.is_alive():
                        worker = _pool().take(self.memory)
                    result = self._read(worker, path)
                except OSError as error:
                    logger.warning("a worker process cannot be used", exc_info=error)
                    result = DocParserError(exception=error, message=f"{path}: no process to read it in ({error})")
                except Exception as error:  # whatever it is, the file gets an answer and the caller does not wait
                    logger.error("reading %s failed", path, exc_info=error)
                    result = DocParserError(exception=error, message=f"{path}: {type(error).__name__}: {error}")
                self.events.put((path, result))
        finally:
            if worker is not None:
                _pool().give_back(worker)

    def _password_for(self, path: str) -> str | None:
        if self.password is None or isinstance(self.password, str):
            return self.password
        return self.password.get(path)

    def _cache_options(self, path: str) -> dict[str, Any]:
        return {**self.options, "password": self._password_for(path)}

    def _from_cache(self, path: str) -> Result | None:
        if self.cache is None:
            return None
        try:
            return self.cache.lookup(path, self._cache_options(path))
        except FileNotFoundError as error:
            return _missing(path, error)

    def _read(self, worker: _Worker, path: str) -> Result:
        with self.lock:
            self.busy.add(worker)
        try:
            if self.stopped.is_set():
                return DocParserError(message=f"{path}: reading was cancelled")
            before = self.cache.state_of(path) if self.cache is not None else None
            options = {**self.options, "password": self._password_for(path)}
            result = worker.read(path, options, self.seconds, lambda *pages: self.events.put((path, pages)))
        except FileNotFoundError as error:
            return _missing(path, error)
        finally:
            with self.lock:
                self.busy.discard(worker)
        if self.cache is not None and before is not None and not self.stopped.is_set():
            self.cache.store(path, self._cache_options(path), result, before)
        return result


def _missing(path: str, error: OSError) -> DocParserError:
    return DocParserError(exception=error, message=f"{path}: there is no such file")


class _Worker:
    """A worker process and its pipes."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        # The worker imports from where this program does, but never from the current folder (-P): a file lying
        # beside the documents is no module.
        package_root = str(Path(__file__).resolve().parents[2])
        places = [package_root, *(place for place in sys.path if place and os.path.isabs(place))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", "qwen_agentkit.rag.worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._last = False
        with _Deadline(self, START_SECONDS):
            if self._receive() is None:
                self.kill()
                raise OSError(f"the worker process ended at once with status {self.process.poll()}")

    def is_alive(self) -> bool:
        """It can take another file."""
        return not self._last and self.process.poll() is None

    def kill(self) -> None:
        """Ends the process at once."""
        self._last = True
        if self.process.poll() is None:
            self.process.kill()

    def close(self) -> None:
        """Ends the process and waits for it."""
        self._last = True
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # it is gone already
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _receive(self) -> dict[str, Any] | None:
        if self.process.stdout is None:
            raise OSError("the worker process has no pipe to read from")
        return read_message(self.process.stdout)

    def read(self, path: str, options: dict[str, Any], seconds: float, on_pages: Callable[[int, int], None]) -> Result:
        """The document in a file, or why there is none.

        Args:
            path: The file.
            options: Arguments of `reading.read_document`, JSON-able.
            seconds: The most it may take.
            on_pages: Called with (pages done, pages in all).
        """
        blocks: list[Block] = []
        with _Deadline(self, seconds) as deadline:
            try:
                if self.process.stdin is None:
                    raise OSError("the worker process has no pipe to write to")
                write_message(self.process.stdin, {"path": path, "options": options})
                while (message := self._receive()) is not None:
                    if "blocks" in message:
                        blocks.extend(Block.from_json(block) for block in message["blocks"])
                        if message.get("pages"):
                            on_pages(*message["pages"])
                        continue
                    self._last = bool(message.get("last"))
                    if "done" in message:
                        document = Document.from_json({**message["done"], "blocks": []})
                        document.blocks = blocks
                        return document
                    return _error_of(message["error"], path, blocks)
            except BrokenPipeError:
                logger.debug("the worker ended before it was asked to read %s", path)
        self.close()
        if deadline.passed:
            reason = f"reading it takes longer than {seconds:g} seconds"
            return _rest(path, blocks, reason) or LimitExceededInFile(message=f"{path}: {reason}")
        status = self.process.returncode
        reason = f"its parser ended with {'signal' if status < 0 else 'status'} {abs(status)}"
        return _rest(path, blocks, reason) or DamagedFile(message=f"{path}: it cannot be read ({reason})")


class _Deadline:
    """Kills the worker when the time is up; `passed` says that it was."""

    def __init__(self, worker: _Worker, seconds: float) -> None:
        self._worker = worker
        self.passed = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def _end(self) -> None:
        self.passed = True
        self._worker.kill()

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _rest(path: str, blocks: list[Block], reason: str) -> Document | None:
    """What had come home before the worker ended, as a document with a warning."""
    if not blocks:
        return None
    file = Path(path).resolve()
    return Document(
        source=str(file),
        title=file.name,
        file_type=file.suffix.lower().lstrip(".") or "unknown",
        blocks=blocks,
        warnings=[f"{reason}; what was read before is kept"],
    )


def _error_of(error: dict[str, Any], path: str, blocks: list[Block]) -> Result:
    """The error that a worker reported, as the exception it was."""
    name, message = error["type"], error["message"]
    if name == "MemoryError":
        reason = "reading it takes more memory than allowed"
        return _rest(path, blocks, reason) or LimitExceededInFile(message=f"{path}: {reason}")
    if name == "FileNotFoundError":
        return DocParserError(message=f"{path}: there is no such file")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DocParserError):
        return kind(message=message, extra=error.get("extra"))
    return DocParserError(message=message if path in message else f"{path}: {message}")


class _Pool:
    """Workers that wait for the next call."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def take(self, memory: int) -> _Worker:
        """A waiting worker with that memory limit, or a new one."""
        with self._lock:
            for worker in self._idle:
                if worker.memory == memory and worker.is_alive():
                    self._idle.remove(worker)
                    return worker
        return _Worker(memory)

    def give_back(self, worker: _Worker) -> None:
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


_pools: list[_Pool] = []
_pools_lock = threading.Lock()


def _pool() -> _Pool:
    """The pool of this process; after a fork the child makes its own."""
    with _pools_lock:
        if not _pools or _pools[-1].pid != os.getpid():
            if not _pools:
                atexit.register(close_workers)
            _pools[:] = [_Pool()]
        return _pools[-1]


def close_workers() -> None:
    """Ends the worker processes that wait for files; the next call starts new ones."""
    with _pools_lock:
        pool = _pools[-1] if _pools else None
    if pool is not None and pool.pid == os.getpid():
        pool.close()
