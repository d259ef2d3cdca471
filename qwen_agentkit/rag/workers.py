"""Reading documents in processes of their own: no file can crash, hang or fill the program that asks for it.

Workers (`qwen_agentkit.rag.worker`) live on between calls, at most one a core. They are plain subprocesses spoken to
over pipes, so a script needs no main guard and nothing of it is run twice.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qwen_agentkit import settings
from qwen_agentkit.errors import DocParserError
from qwen_agentkit.log import logger
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.limits import ReadLimits
from qwen_agentkit.rag.ocr import check_ocr, chosen_ocr, recogniser_bytes
from qwen_agentkit.rag.reading import check_engine
from qwen_agentkit.rag.worker_pool import close_workers, pool, worker_count
from qwen_agentkit.rag.worker_process import Result, WorkerProcess

if TYPE_CHECKING:
    from qwen_agentkit.rag.cache import DocumentCache

__all__ = ["ReadProgress", "close_workers", "read_document_in_worker", "read_documents", "worker_count"]

_POLL_SECONDS = 0.1
_JOIN_SECONDS = 5.0
# About what starting a worker takes: a further one is started for files that still wait after so long.
_START_SECONDS = 0.1


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


def read_documents(
    paths: Iterable[str | os.PathLike[str]],
    *,
    password: str | Mapping[str, str] | None = None,
    engine: str = "auto",
    tables: str = "auto",
    keep_images: bool = False,
    ocr: bool | str | None = None,
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
        tables: For PDF: `auto` or `pdfplumber`.
        keep_images: Pictures are kept.
        ocr: See `qwen_agentkit.rag.ocr.recognise`; a function must be given by its name, "package.module:function".
            False leaves pages without a text layer out; None is `settings.OCR`.
        limits: What reading a file may cost; None is `ReadLimits()`.
        seconds: The most that one file may take, with `ocr` each of its pages; None is
            `settings.DEFAULT_PARSE_SECONDS`.
        memory: Bytes that a worker may use beyond its own; None is `settings.DEFAULT_PARSE_MEMORY`, with rapidocr
            as much more as its models take.
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
    check_engine(engine, tables)
    if callable(ocr):
        raise ValueError("A function cannot be sent to a worker process; give ocr as 'package.module:function'.")
    how = chosen_ocr(ocr)
    check_ocr(how, load=False)
    for name, value in (("seconds", seconds), ("memory", memory), ("workers", workers)):
        if value is not None and value <= 0:
            raise ValueError(f"{name} is above 0 or None; given {value!r}.")
    options = {
        "engine": engine,
        "tables": tables,
        "keep_images": keep_images,
        "ocr": how,
        "limits": asdict(limits or ReadLimits()),
    }
    job = _Job(
        [os.fspath(path) for path in paths],
        options,
        password,
        float(seconds if seconds is not None else settings.DEFAULT_PARSE_SECONDS),
        int(memory if memory is not None else settings.DEFAULT_PARSE_MEMORY + recogniser_bytes(how)),
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
        self.begun = threading.Event()  # a worker is there
        self.stopped = threading.Event()
        self.busy: set[WorkerProcess] = set()
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
            threading.Thread(target=self._serve, args=(number == 0,), name="qwen_agentkit-reading", daemon=True)
            for number in range(min(count, len(todo)))
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
        self.begun.set()
        with self.lock:
            for worker in self.busy:
                worker.kill()

    def _another_is_worth_starting(self) -> bool:
        """Waits until the first worker has read for a while; are there files left that it has not come to?"""
        self.begun.wait()
        self.stopped.wait(_START_SECONDS)
        return not self.waiting.empty()

    def _serve(self, first: bool) -> None:
        """One thread, one worker: takes files until there are none."""
        worker = pool().take_waiting(self.memory)
        try:
            if worker is None and not first and not self._another_is_worth_starting():
                return
            while not self.stopped.is_set():
                try:
                    path = self.waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    if worker is not None and not worker.is_alive():
                        worker.close()
                        worker = None
                    if worker is None:
                        worker = pool().take(self.memory)
                    self.begun.set()
                    result = self._read(worker, path)
                except OSError as error:
                    logger.warning("a worker process cannot be used", exc_info=error)
                    result = DocParserError(exception=error, message=f"{path}: no process to read it in ({error})")
                except Exception as error:  # whatever it is, the file gets an answer and the caller does not wait
                    logger.error("reading %s failed", path, exc_info=error)
                    result = DocParserError(exception=error, message=f"{path}: {type(error).__name__}: {error}")
                self.events.put((path, result))
        finally:
            self.begun.set()
            if worker is not None:
                pool().give_back(worker)

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

    def _read(self, worker: WorkerProcess, path: str) -> Result:
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
