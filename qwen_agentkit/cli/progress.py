"""A bar for reading, shown only on a terminal and only while it takes a while."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qwen_agentkit.cli.terminal import is_quiet, plain
from qwen_agentkit.rag.workers import ReadProgress

# Seconds after which a bar begins to be worth looking at.
_PATIENCE = 0.5

Progress = Callable[[ReadProgress], None]


@contextmanager
def reading() -> Iterator[Progress]:
    """Gives a function, for `read_documents`, that draws a bar on standard error."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("Reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[file]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=None, file="")
    begun = time.monotonic()
    started = False

    def show(progress: ReadProgress) -> None:
        nonlocal started
        if not started and time.monotonic() - begun > _PATIENCE:
            bar.start()
            started = True
        name = plain(os.path.basename(progress.path))
        if progress.pages:
            name += f", page {progress.pages_done} of {progress.pages}"
        bar.update(task, completed=progress.files_done, total=progress.files, file=name)

    try:
        yield show
    finally:
        if started:
            bar.stop()
