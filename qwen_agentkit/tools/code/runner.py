"""Runs inside the sandbox: takes cells as JSON lines on stdin, runs them, answers with JSON lines.

It is started by its path and imports nothing of the package. It keeps its names between cells, as a notebook does:
with IPython where that is installed, else with `exec`.

In:  {"id": 1, "code": "...", "fresh": false} or {"interrupt": true}
Out: {"id", "stream": "stdout" | "stderr", "text"}, {"id", "result": text}, {"id", "figure": file name},
     {"id", "error": text}, {"id", "done": true}; first of all {"ready": true}
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import threading
import traceback
from typing import Any

# Characters of one stream, one result and one error that leave the sandbox for one cell.
MAX_CHARS = 200_000
_MAX_FIGURES = 20


class _Channel:
    """The way out: whole lines, from several threads."""

    def __init__(self, descriptor: int) -> None:
        self._stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")
        self._lock = threading.Lock()

    def send(self, **fields: object) -> None:
        line = json.dumps(fields, ensure_ascii=True)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()


class _Capture:
    """What is written to a descriptor, by Python, by C code and by child processes, sent out as it comes.

    Everything is read, so a program that writes without end never blocks; what is over the bound is dropped.
    """

    def __init__(self, descriptor: int, name: str, channel: _Channel) -> None:
        self._name = name
        self._channel = channel
        self._sent = 0
        self._cell: object = None
        self._synced = threading.Event()
        self._mark = b""
        reading, writing = os.pipe()
        os.dup2(writing, descriptor)
        os.close(writing)
        self._descriptor = descriptor
        threading.Thread(target=self._read, args=(reading,), daemon=True).start()

    def begin(self, cell: object) -> None:
        self._cell = cell
        self._sent = 0

    def sync(self) -> None:
        """Waits until all that was written before has been sent."""
        self._synced.clear()
        self._mark = b"\x00\x01sync-" + os.urandom(12) + b"\x01\x00"
        os.write(self._descriptor, self._mark)
        self._synced.wait(2)
        self._mark = b""

    def _read(self, reading: int) -> None:
        held = b""
        while True:
            raw = os.read(reading, 65536)
            if not raw:
                return
            held += raw
            mark = self._mark
            if mark and mark in held:
                before, _, held = held.partition(mark)
                self._send(before)
                self._synced.set()
                continue
            # A mark that has come only in part stays until the rest is here.
            keep = len(mark) - 1 if mark else 0
            ready, held = (held[:-keep], held[-keep:]) if keep else (held, b"")
            self._send(ready)

    def _send(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "replace")
        left = MAX_CHARS - self._sent
        if not text or left <= 0:
            return
        self._sent += len(text)
        if len(text) > left:
            text = text[:left] + f"\n[the rest of {self._name} is left out]"
        self._channel.send(id=self._cell, stream=self._name, text=text)


class _Plain:
    """Cells without IPython: statements are executed, the value of a last expression is the result."""

    def __init__(self) -> None:
        self.names: dict[str, object] = {"__name__": "__main__"}

    def run(self, code: str) -> tuple[object, BaseException | None]:
        try:
            tree = ast.parse(code, "<cell>")
            final = tree.body[-1] if tree.body else None
            last = None
            if isinstance(final, ast.Expr):
                tree.body.pop()
                last = ast.Expression(final.value)
            exec(compile(tree, "<cell>", "exec"), self.names)
            value = eval(compile(last, "<cell>", "eval"), self.names) if last is not None else None
            return value, None
        except BaseException as error:
            return None, error


class _Notebook:
    """Cells as IPython runs them: magics, `!commands`, top-level await."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.shell: Any = InteractiveShell.instance()
        # Results are sent, not printed; errors are told, not drawn in colours.
        for holder, names in (
            (self.shell.displayhook, ("write_output_prompt", "write_format_data")),
            (self.shell, ("showtraceback", "showsyntaxerror")),
        ):
            for name in names:
                setattr(holder, name, lambda *_, **__: None)

    def run(self, code: str) -> tuple[object, BaseException | None]:
        done = self.shell.run_cell(code, store_history=False)
        return done.result, done.error_before_exec or done.error_in_exec


def _maker() -> _Notebook | _Plain:
    try:
        return _Notebook()
    except ImportError:
        return _Plain()


def _error_text(error: BaseException) -> str:
    """The error as a person reads it in a notebook: only the frames of the cells."""
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code}"
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(("<cell", "<ipython", "/tmp/ipykernel", os.getcwd()))]
    lines = [f"  line {frame.lineno}, in {frame.name}" for frame in own[-10:]]
    told = "".join(traceback.format_exception_only(type(error), error)).strip()
    return "\n".join([*lines, told])


def _figures(channel: _Channel, cell: object, value: object) -> bool:
    """Saves the open figures of matplotlib and a picture that is the result. True when the result was a picture."""
    saved = 0

    def name() -> str:
        return f"figure-{os.urandom(6).hex()}.png"

    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        for number in pyplot.get_fignums()[:_MAX_FIGURES]:
            path = name()
            pyplot.figure(number).savefig(path, bbox_inches="tight")
            channel.send(id=cell, figure=path)
            saved += 1
        pyplot.close("all")
    draw = getattr(value, "_repr_png_", None)
    if callable(draw) and not isinstance(value, type):
        content = draw()
        if isinstance(content, tuple):
            content = content[0]
        if isinstance(content, bytes):
            path = name()
            with open(path, "wb") as stream:
                stream.write(content)
            channel.send(id=cell, figure=path)
            return True
    return False


def _limit(memory: int, file_size: int, tasks: int) -> None:
    """Bounds that the system keeps; the host watches over the rest.

    Args:
        memory: Bytes of address space.
        file_size: Bytes of one file.
        tasks: Processes and threads in all, 0 for no bound: for a user namespace of its own. Before Linux 5.14 all
            processes of the user were counted, the host's too, so none is set there.
    """
    try:
        import resource
    except ImportError:
        return
    for which, value in (("RLIMIT_AS", memory), ("RLIMIT_FSIZE", file_size), ("RLIMIT_CORE", 0)):
        if value >= 0:
            resource.setrlimit(getattr(resource, which), (value, value))
    if tasks and tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2]) >= (5, 14):
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))


def main() -> None:
    memory, file_size, tasks = (int(bound) for bound in (*sys.argv[1:4], "0")[:3])
    orders = os.fdopen(os.dup(0), encoding="utf-8")
    channel = _Channel(os.dup(1))
    # What the cells read from is empty; what they write goes through the captures.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    captures = [_Capture(1, "stdout", channel), _Capture(2, "stderr", channel)]
    _limit(memory, file_size, tasks)
    sys.path.insert(0, os.getcwd())
    notebook = _maker()
    cells: list[dict] = []
    wanted = threading.Semaphore(0)
    running = threading.Event()

    main_thread = threading.get_ident()

    def listen() -> None:
        for line in orders:
            order = json.loads(line)
            if order.get("interrupt"):
                if running.is_set():
                    signal.pthread_kill(main_thread, signal.SIGINT)
            else:
                cells.append(order)
                wanted.release()
        os._exit(0)  # the host has gone

    threading.Thread(target=listen, daemon=True).start()
    channel.send(ready=True)
    while True:
        try:
            wanted.acquire()
            cell = cells.pop(0)
        except KeyboardInterrupt:
            continue
        if cell.get("fresh"):
            notebook = _forgetful(notebook)
        for capture in captures:
            capture.begin(cell["id"])
        value, error = None, None
        try:
            running.set()
            value, error = notebook.run(cell["code"])
        except BaseException as raised:
            error = raised
        finally:
            running.clear()
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            drawn = _figures(channel, cell["id"], value)
            if value is not None and not drawn:
                text = repr(value)
                more = f"… [{len(text) - MAX_CHARS} more characters]" if len(text) > MAX_CHARS else ""
                channel.send(id=cell["id"], result=text[:MAX_CHARS] + more)
        except BaseException as raised:
            error = error or raised
        for capture in captures:
            capture.sync()
        if error is not None:
            channel.send(id=cell["id"], error=_error_text(error)[:MAX_CHARS])
        channel.send(id=cell["id"], done=True)


def _forgetful(notebook: _Notebook | _Plain) -> _Notebook | _Plain:
    """The same without any names."""
    if isinstance(notebook, _Plain):
        return _Plain()
    notebook.shell.reset(new_session=True)
    return notebook


if __name__ == "__main__":
    main()
