"""A process that reads documents for another: ``python -m qwen_agentkit.rag.worker``, spoken to over its pipes.

Each message is four bytes of length, big-endian, and that many bytes of JSON. A request is ``{"path", "options"}``;
the answers are ``{"blocks", "pages", ...}`` as reading goes on, so that what was read is at home when this process is
killed, and at last ``{"done": document without blocks}`` or ``{"error": {"type", "message", ...}}``. After
``{"last": true}`` in either the process ends: it has used much memory and a fresh one takes its place.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from typing import IO, Any

from qwen_agentkit.errors import DocParserError
from qwen_agentkit.rag.document import Block
from qwen_agentkit.rag.limits import ReadLimits

# Blocks are sent home after each page, when they make this many characters, and every so many seconds.
SEND_CHARACTERS = 200_000
SEND_SECONDS = 0.25
# Files after which a worker is replaced: libraries written in C may lose a little memory with each.
MAX_FILES = 300

_LENGTH = struct.Struct(">I")


def write_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Writes one message and flushes it."""
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """Reads one message; None at the end of the stream, also in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        return None
    return json.loads(data)


def limit_memory(size: int) -> bool:
    """Bounds what this process may allocate beyond what it has now.

    Args:
        size: Bytes.

    Returns:
        False where the system has no such limit; files are then bounded by their other limits only.
    """
    try:
        import resource
    except ImportError:
        return False
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            now = int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        now = 256_000_000
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + size if hard == resource.RLIM_INFINITY else min(now + size, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (OSError, ValueError):
        return False
    return True


def resident_bytes() -> int:
    """Memory that this process holds now, 0 where it cannot be told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


class _Sender:
    """Sends blocks and progress home: after each page, when they make enough, and from time to time.

    The last is done by a thread, while the parser is busy with something that adds nothing. A library that holds
    Python's lock while it hangs stops that thread too, so pages do not wait for it.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._blocks: list[dict[str, Any]] = []
        self._characters = 0
        self._pages: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._send()

    def block(self, block: Block) -> None:
        with self._lock:
            self._blocks.append(block.to_json())
            self._characters += len(block.text)
            enough = self._characters >= SEND_CHARACTERS
        if enough:
            self._send()

    def progress(self, done: int, total: int) -> None:
        self._pages = (done, total)
        self._send()

    def _run(self) -> None:
        while not self._ended.wait(SEND_SECONDS):
            self._send()

    def _send(self) -> None:
        with self._lock:
            blocks, pages = self._blocks, self._pages
            self._blocks, self._characters, self._pages = [], 0, None
            if blocks or pages:
                write_message(self._stream, {"blocks": blocks, "pages": pages})


def _answer(request: dict[str, Any], stream: IO[bytes]) -> dict[str, Any]:
    """Reads the file of a request; the last message about it."""
    from qwen_agentkit.rag.reading import read_document

    options = dict(request["options"])
    limits = ReadLimits(**options.pop("limits", {}))
    try:
        with _Sender(stream) as sender:
            document = read_document(
                request["path"], limits=limits, on_block=sender.block, on_progress=sender.progress, **options
            )
    except DocParserError as error:
        return {"error": {"type": type(error).__name__, "message": error.message, "extra": error.extra}}
    except (OSError, ValueError, ImportError) as error:
        return {"error": {"type": type(error).__name__, "message": str(error), "extra": None}}
    except MemoryError:
        return {"error": {"type": "MemoryError", "message": "", "extra": None}, "last": True}
    except Exception as error:  # whatever a file makes a library raise is said, and the worker lives on
        message = f"{request['path']}: it cannot be read ({type(error).__name__}: {error})"
        return {"error": {"type": "DamagedFile", "message": message, "extra": None}}
    data = document.to_json()
    del data["blocks"]  # they are at home
    return {"done": data}


def main() -> int:
    """Serves requests until the other side closes the pipe."""
    requests = sys.stdin.buffer
    # What a library prints must not fall between the messages.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.setrecursionlimit(3_000)
    memory = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    if memory:
        limit_memory(memory)
    start = resident_bytes()
    write_message(answers, {"ready": os.getpid()})
    for number in range(1, MAX_FILES + 1):
        request = read_message(requests)
        if request is None:
            return 0
        answer = _answer(request, answers)
        if number == MAX_FILES or (memory and resident_bytes() - start > memory // 3):
            answer["last"] = True
        try:
            write_message(answers, answer)
        except BrokenPipeError:
            return 0
        if answer.get("last"):
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
