"""`Kernel`: one runner in its sandbox, seen from the host."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.tools.code.container import (
    DEFAULT_IMAGE,
    ENGINES,
    container_command,
    engine_environment,
    remove_container,
)
from qwen_agentkit.tools.code.limits import Limits
from qwen_agentkit.tools.code.sandbox import NONE, command_for, environment
from qwen_agentkit.tools.code.watch import folder_bytes, use_of
from qwen_agentkit.utils.files import open_regular, write_atomically
from qwen_agentkit.utils.session_ends import FIGURES, user_mark

# Seconds for a runner to say that it is ready, and for a cell to end after it was interrupted.
_START_SECONDS = 30.0
_INTERRUPT_SECONDS = 1.5
# Characters of all output of a cell that are kept, and of one line that comes from the sandbox.
MAX_OUTPUT_CHARS = 400_000
_MAX_LINE = 2_000_000
_WATCH_SECONDS = 0.1
# Looking at a folder of very many files takes a while; a sixth of the time at most is spent on it.
_WATCH_FOLDER_SECONDS = 0.2
_WATCH_FOLDER_SHARE = 5.0
_MAX_FIGURE_BYTES = 50_000_000
_FIGURE = re.compile(r"figure-[0-9a-f]{12}\.png")


@dataclass
class CellOutcome:
    """What came of a cell.

    Args:
        stdout, stderr: What it wrote.
        result: Its last value, as text.
        error: The error that ended it, as text.
        figures: Pictures it made, as paths.
        ended: Why the kernel was ended with it, None when the kernel lives on.
    """

    stdout: str = ""
    stderr: str = ""
    result: str | None = None
    error: str | None = None
    figures: list[str] = field(default_factory=list)
    ended: str | None = None


class Kernel:
    """A Python that keeps its names between cells, in a sandbox.

    Args:
        sandbox: As `sandbox.choose` gave it.
        work_dir: Its folder; it is made.
        limits: What it may use.
        image: Image of a container.

    Raises:
        ToolServiceError: It does not start; the text says why.
    """

    def __init__(self, sandbox: str, work_dir: str, limits: Limits, image: str = "") -> None:
        self.sandbox = sandbox
        self.work_dir = os.path.realpath(work_dir)
        self.limits = limits
        self.last_used = time.monotonic()
        # (user id, session id) of the conversation that it ends with, if it belongs to one.
        self.session: tuple[str, str] | None = None
        self._lock = threading.Lock()
        self._cell = 0
        self._pid = os.getpid()
        os.makedirs(self.work_dir, exist_ok=True)
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (it lives as long as the kernel)
        self._container = f"qwen-agentkit-{uuid.uuid4().hex[:16]}" if sandbox in ENGINES else None
        if self._container is not None:
            command = container_command(sandbox, image or DEFAULT_IMAGE, self._container, self.work_dir, limits)
            variables = engine_environment()
        else:
            command = command_for(sandbox, self.work_dir, limits)
            variables = environment(self.work_dir) if sandbox == NONE else {"PATH": os.environ.get("PATH", "")}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                cwd=self.work_dir,
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolServiceError(error, "no_sandbox", f"The sandbox does not start: {error}") from error
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue(maxsize=1000)
        threading.Thread(target=self._read, name="qwen-agentkit-kernel", daemon=True).start()
        if self._next(time.monotonic() + _START_SECONDS) != {"ready": True}:
            self.stop()
            raise ToolServiceError(None, "no_sandbox", f"The sandbox does not start: {self._said()}")
        self.last_used = time.monotonic()

    @property
    def is_alive(self) -> bool:
        return self._pid == os.getpid() and self._process.poll() is None

    @property
    def is_busy(self) -> bool:
        """A cell is running."""
        return self._lock.locked()

    def run(self, code: str, seconds: float, fresh: bool = False) -> CellOutcome:
        """Runs a cell.

        Args:
            code: Python.
            seconds: Bound of its time. Then it is interrupted, which Python code notices and names stay; what does
                not notice is ended with the kernel.
            fresh: Forgets all names first.

        Raises:
            RunCancelled: The run was cancelled; the cell was interrupted, or ended with the kernel.
        """
        with self._lock:
            self._cell += 1
            outcome = CellOutcome()
            run = current_run()
            forget = run.cancel.on_cancel(self._interrupt) if run is not None else _nothing
            stopped = threading.Event()
            watch = threading.Thread(target=self._watch, args=(stopped, outcome), daemon=True)
            watch.start()
            try:
                self._send({"id": self._cell, "code": code, "fresh": fresh})
                self._collect(outcome, time.monotonic() + seconds, seconds)
            finally:
                stopped.set()
                forget()
                self.last_used = time.monotonic()
            if run is not None:
                run.cancel.raise_if_cancelled()
            return outcome

    def stop(self) -> None:
        """Ends the sandbox and everything in it."""
        if self._pid != os.getpid():
            return
        if self._container is not None:
            # Its processes are the engine's, not children of the tool that was started here.
            remove_container(self.sandbox, self._container)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            logger.warning("The sandbox with process %s did not end", self._process.pid)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _collect(self, outcome: CellOutcome, deadline: float, seconds: float) -> None:
        run = current_run()
        is_interrupted = False
        while True:
            event = self._next(min(deadline, time.monotonic() + 0.2))
            if event is None:
                if not self.is_alive:
                    outcome.ended = outcome.ended or self._why_it_ended()
                    return
                cancelled = run is not None and run.cancel.cancelled
                if not cancelled and time.monotonic() < deadline:
                    continue
                if not is_interrupted:
                    is_interrupted = True
                    if not cancelled:
                        outcome.error = f"TimeoutError: the code was stopped after {seconds:g} seconds"
                    self._interrupt()
                    deadline = time.monotonic() + (0.3 if cancelled else _INTERRUPT_SECONDS)
                    continue
                if time.monotonic() < deadline:
                    continue
                outcome.ended = "The code could not be interrupted."
                self.stop()
                return
            if event.get("id") != self._cell:
                continue  # of a cell that was given up
            if event.get("done") is True:
                return
            self._take(event, outcome, keep_error=is_interrupted)

    def _why_it_ended(self) -> str:
        if self._container is not None and self._process.returncode == 137:
            return f"The code was killed, perhaps for more than {self.limits.memory // 1_000_000} MB of memory."
        return "The code ended its own Python process."

    def _take(self, event: dict[str, Any], outcome: CellOutcome, keep_error: bool) -> None:
        """One event. It comes from inside the sandbox, so nothing in it is taken on trust."""
        text = event.get("text")
        if event.get("stream") in ("stdout", "stderr") and isinstance(text, str):
            held = getattr(outcome, event["stream"])
            setattr(outcome, event["stream"], (held + text)[:MAX_OUTPUT_CHARS])
        if isinstance(event.get("result"), str):
            outcome.result = event["result"][:MAX_OUTPUT_CHARS]
        if isinstance(event.get("error"), str) and not keep_error:
            outcome.error = event["error"][:MAX_OUTPUT_CHARS]
        figure = event.get("figure")
        if isinstance(figure, str) and _FIGURE.fullmatch(figure):
            kept = self._kept_figure(figure)
            if kept is not None:
                outcome.figures.append(kept)

    def _kept_figure(self, name: str) -> str | None:
        """A picture's copy outside of the sandbox: there the code cannot make it a link to a file of the host's."""
        owner = f"{user_mark(self.session[0])}-" if self.session is not None else ""
        place = os.path.join(os.path.dirname(self.work_dir), FIGURES, owner + name)
        try:
            with open_regular(os.path.join(self.work_dir, name)) as stream:
                content = stream.read(_MAX_FIGURE_BYTES + 1)
            if len(content) > _MAX_FIGURE_BYTES:
                raise OSError(f"it has more than {_MAX_FIGURE_BYTES} bytes")
            write_atomically(place, content)
        except OSError as error:
            logger.warning("A picture of the sandbox could not be kept: %s", error)
            return None
        return place

    def _watch(self, stopped: threading.Event, outcome: CellOutcome) -> None:
        """Ends the sandbox when it takes more than it may; a Python that is out of its bounds cannot tell."""
        before = folder_bytes(self.work_dir)
        next_folder = time.monotonic() + _WATCH_FOLDER_SECONDS
        while not stopped.wait(_WATCH_SECONDS):
            use = use_of(self._process.pid)
            problem = None
            if use.memory > self.limits.memory:
                problem = f"The code took more than {self.limits.memory // 1_000_000} MB of memory."
            elif use.processes > self.limits.processes:
                problem = f"The code started more than {self.limits.processes} processes."
            elif time.monotonic() >= next_folder:
                began = time.monotonic()
                grown = folder_bytes(self.work_dir) - before
                ended = time.monotonic()
                next_folder = ended + max(_WATCH_FOLDER_SECONDS, _WATCH_FOLDER_SHARE * (ended - began))
                if grown > self.limits.folder:
                    problem = f"The code wrote more than {self.limits.folder // 1_000_000} MB."
            if problem is not None:
                outcome.ended = problem
                self.stop()
                return

    def _interrupt(self) -> None:
        self._send({"interrupt": True})

    def _send(self, order: dict[str, Any]) -> None:
        stdin = self._process.stdin
        with contextlib.suppress(OSError, ValueError):  # it has ended, which the reader tells
            if stdin is not None:
                stdin.write(json.dumps(order).encode() + b"\n")
                stdin.flush()

    def _next(self, until: float) -> dict[str, Any] | None:
        """The next event; None when there is none in time or no more will come."""
        try:
            return self._events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None

    def _read(self) -> None:
        stdout = self._process.stdout
        while stdout is not None:
            try:
                line = stdout.readline(_MAX_LINE)
            except (OSError, ValueError):
                line = b""
            if not line:
                break
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue  # code that found its way to the channel wrote no event
            if isinstance(event, dict):
                self._events.put(event)
        # Wakes whoever waits, once the process can be seen to have ended.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._events.put(None)

    def _said(self) -> str:
        self._log.seek(0)
        return " ".join(self._log.read(2000).split()) or "it said nothing"


def _nothing() -> None:
    """In place of taking a callback off a token that is not there."""
