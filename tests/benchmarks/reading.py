"""Prints how fast files are read and cut, beside Qwen-Agent on the same files.

    python tests/benchmarks/reading.py FOLDER [--files 1000] [--seconds 300]

Files of the folder are taken again and again, each copy under a name of its own, until there are as many as asked for.
CPU seconds are those of all processes, so that a busy machine changes them little. Qwen-Agent is run in the Python
that QWEN_AGENTKIT_PEER_PYTHON names, one file after the other as it does, and stopped after `--seconds`; it is left out
without one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"
# Qwen-Agent hangs on some files; each may take as long as one does here.
PEER_SECONDS_A_FILE = 60

sys.path.insert(0, str(ROOT))

_PEER_SCRIPT = """
import signal, sys, time
from pathlib import Path
from qwen_agent.tools.simple_doc_parser import SimpleDocParser

class TooLong(Exception):
    pass

def stop(*_):
    raise TooLong

signal.signal(signal.SIGALRM, stop)
parser = SimpleDocParser({"structured_doc": True, "path": sys.argv[2]})
limit, begun, cpu, done, read = float(sys.argv[3]), time.monotonic(), time.process_time(), 0, 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    if time.monotonic() - begun > limit:
        break
    done += 1
    signal.alarm(int(sys.argv[4]))
    try:
        parser.call({"url": str(path)})
        read += 1
    except Exception:
        pass  # counted as not read
    finally:
        signal.alarm(0)
print(done, read, time.monotonic() - begun, time.process_time() - cpu)
"""


def fill(folder: Path, source: Path, count: int) -> list[Path]:
    """Copies files of `source`, each under a new name, until there are `count`."""
    files = sorted(path for path in source.rglob("*") if path.is_file())
    if not files:
        raise SystemExit(f"There is no file in {source}.")
    made = []
    for number, path in zip(range(count), itertools.cycle(files), strict=False):
        made.append(folder / f"{number:05d}-{path.name}")
        shutil.copyfile(path, made[-1])
    return made


def own(paths: list[Path]) -> None:
    """Reads and cuts with this package."""
    import resource

    from qwen_agentkit.rag.chunking import chunk_document
    from qwen_agentkit.rag.document import Document
    from qwen_agentkit.rag.workers import close_workers, read_documents

    begun = time.monotonic()
    documents = [result for _, result in read_documents(paths) if isinstance(result, Document)]
    wall = time.monotonic() - begun
    close_workers()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
    row("qwen_agentkit", len(paths), len(documents), wall, cpu)
    begun = time.process_time()
    chunks = sum(len(chunk_document(document)) for document in documents)
    cpu = time.process_time() - begun
    characters = sum(len(document.text) for document in documents)
    pages = sum(document.page_count or 0 for document in documents)
    print(f"{pages} pages; {chunks} chunks, {characters / max(cpu, 1e-9) * 60 / 1e6:.0f} million characters a minute")


def pdfs(paths: list[Path]) -> None:
    """Pages a CPU second of each engine, in this process."""
    from qwen_agentkit.errors import DocParserError
    from qwen_agentkit.rag.reading import read_document

    files = [path for path in paths if path.suffix.lower() == ".pdf"]
    for engine in ("auto", "pdfium", "pdfminer") if files else ():
        pages, begun = 0, time.process_time()
        for path in files:
            try:
                pages += read_document(path, engine=engine).page_count or 0
            except DocParserError:
                continue  # locked and broken ones are part of any set
        cpu = time.process_time() - begun
        print(f"PDF, {engine:9} {pages:6} pages {pages / max(cpu, 1e-9):8.1f} pages a CPU second")


def row(label: str, files: int, read: int, wall: float, cpu: float) -> None:
    """One line of the table; the rate is that of the files that were read, since an error is soon made."""
    print(
        f"{label:16}{files:6} files{read:6} read{wall:9.1f} s{cpu:9.1f} CPU s{read / max(cpu, 1e-9):9.1f} a CPU second"
    )


def peer(folder: Path, seconds: float) -> None:
    """The same files with Qwen-Agent."""
    python = os.environ.get(PEER)
    if not python:
        print(f"qwen_agent: left out, {PEER} names no Python that has it")
        return
    with tempfile.TemporaryDirectory() as work:
        command = [python, "-c", _PEER_SCRIPT, str(folder), work, str(seconds), str(PEER_SECONDS_A_FILE)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if done.returncode:
        print(f"qwen_agent: failed: {done.stderr.strip().splitlines()[-1:]}")
        return
    files, read, wall, cpu = done.stdout.split()[-4:]
    row("qwen_agent", int(files), int(read), float(wall), float(cpu))


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=300.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        paths = fill(folder, arguments.folder, arguments.files)
        own(paths)
        peer(folder, arguments.seconds)
        sources = sorted(path for path in arguments.folder.rglob("*") if path.is_file())
        pdfs(sources)


if __name__ == "__main__":
    main()
