"""One worker process seen from outside: started, asked, watched, ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qwen_agentkit import errors
from qwen_agentkit.errors import DamagedFile, DocParserError, LimitExceededInFile
from qwen_agentkit.log import logger
from qwen_agentkit.rag.document import Block, Document
from qwen_agentkit.rag.worker import read_message, write_message

Result = Document | DocParserError

# Seconds in which a new worker must report that it is ready.
START_SECONDS = 60.0

# glibc gives freed memory back at once and asks for it again with the next file, which costs up to half of the time
# of reading it. What a worker may hold is bounded in any case; elsewhere these say nothing.
_KEEP_BYTES = str(32 << 20)
_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": _KEEP_BYTES, "MALLOC_MMAP_THRESHOLD_": _KEEP_BYTES}


class WorkerProcess:
    """A worker process and its pipes."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        # The worker imports from where this program does, but never from the current folder (-P): a file lying
        # beside the documents is no module.
        package_root = str(Path(__file__).resolve().parents[2])
        places = [package_root, *(place for place in sys.path if place and os.path.isabs(place))]
        environment = {**_ALLOCATOR, **os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", "qwen_agentkit.rag.worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._last = False
        with Deadline(self, START_SECONDS):
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
            seconds: The most it may take; where pages are recognised, which is slow, the most for each page.
            on_pages: Called with (pages done, pages in all).
        """
        blocks: list[Block] = []
        pages_done = 0
        with Deadline(self, seconds) as deadline:
            try:
                if self.process.stdin is None:
                    raise OSError("the worker process has no pipe to write to")
                # The worker's current folder is the one that it was started in.
                write_message(self.process.stdin, {"path": os.path.abspath(path), "options": options})
                while (message := self._receive()) is not None:
                    if "blocks" in message:
                        blocks.extend(Block.from_json(block) for block in message["blocks"])
                        if message.get("pages"):
                            on_pages(*message["pages"])
                            if options.get("ocr") and message["pages"][0] > pages_done:
                                pages_done = message["pages"][0]
                                deadline.begin_anew()
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
            reason = f"reading it takes longer than {seconds:g} seconds{' a page' if options.get('ocr') else ''}"
            return rest_of(path, blocks, reason) or LimitExceededInFile(message=f"{path}: {reason}")
        status = self.process.returncode
        reason = f"its parser ended with {'signal' if status < 0 else 'status'} {abs(status)}"
        return rest_of(path, blocks, reason) or DamagedFile(message=f"{path}: it cannot be read ({reason})")


class Deadline:
    """Kills the worker when the time is up; `passed` says that it was."""

    def __init__(self, worker: WorkerProcess, seconds: float) -> None:
        self._worker = worker
        self._seconds = seconds
        self.passed = False
        self._timer = self._new_timer()

    def _new_timer(self) -> threading.Timer:
        timer = threading.Timer(self._seconds, self._end)
        timer.daemon = True
        return timer

    def begin_anew(self) -> None:
        """Counts from now on."""
        self._timer.cancel()
        self._timer = self._new_timer()
        self._timer.start()

    def _end(self) -> None:
        self.passed = True
        self._worker.kill()

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def rest_of(path: str, blocks: list[Block], reason: str) -> Document | None:
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
        return rest_of(path, blocks, reason) or LimitExceededInFile(message=f"{path}: {reason}")
    if name == "FileNotFoundError":
        return DocParserError(message=f"{path}: there is no such file")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DocParserError):
        return kind(message=message, extra=error.get("extra"))
    return DocParserError(message=message if os.path.basename(path) in message else f"{path}: {message}")
