"""Every comparison in one table: runs the other scripts of this folder, one after the other.

    python tests/benchmarks/all.py [--quick] [--only WORD ...] [--documents FOLDER] [--verbose]

Qwen-Agent is run in the Python that QWEN_AGENTKIT_PEER_PYTHON names; without one its column is empty. Quality on
labelled sets needs the folder QWEN_AGENTKIT_BENCH_DATA (see `quality.py`) and is left out without it. The whole takes
about half an hour with the peer, `--quick` about five minutes. Each script says itself how it measures.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER = "QWEN_AGENTKIT_PEER_PYTHON"
DATA = "QWEN_AGENTKIT_BENCH_DATA"
NUMBER = r"([\d.,]+)"
FORMATS = ("pdf", "docx", "pptx", "xlsx", "html", "md", "csv")


@dataclass(frozen=True)
class Row:
    """A line of the table, found in what a script prints.

    Args:
        label: What is measured.
        ours: A pattern with one group, the figure of qwen_agentkit.
        peers: The same for Qwen-Agent; "" when nothing of it is measured.
        unit: Of the figures.
        more_is_better: Else less is.
    """

    label: str
    ours: str
    peers: str = ""
    unit: str = ""
    more_is_better: bool = False


@dataclass(frozen=True)
class Script:
    """A script with its arguments, in whole and in short; without the latter it is left out of the short run."""

    name: str
    rows: tuple[Row, ...]
    whole: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ()
    needs_data: bool = False
    seconds: float = 1500.0


def column(number: int) -> str:
    """Skips to a column of figures."""
    return r"\s+".join(["", *[r"[\d.,]+"] * (number - 1), NUMBER])


def scale_rows() -> tuple[Row, ...]:
    sizes = (("1,000", "1k"), ("10,000", "10k"), ("100,000", "100k"))
    rows = []
    for size, short in sizes:
        before = r"^\s*" + size + r" \|"
        for label, position, unit in (
            ("index of", 0, "s"),
            ("second query, median,", 3, "ms"),
            ("memory with", 7, "MB"),
        ):
            rows.append(Row(f"{label} {short} chunks", before + r"[^|]*\|" * position + r"\s*" + NUMBER, "", unit))
    return tuple(rows)


def team_row(label: str, line: str, unit: str) -> Row:
    return Row(label, f"^{line}{column(1)}", f"^{line}{column(2)}", unit)


SCRIPTS = (
    Script(
        "import_time.py",
        (
            Row("import, time", rf"import qwen_agentkit\.agents\s+{NUMBER} ms", rf"\(Qwen-Agent\)\s+{NUMBER} ms", "ms"),
            Row("import, with an Assistant", rf"and Assistant\s+{NUMBER} ms", rf"\(Qwen-Agent\)\s+{NUMBER} ms", "ms"),
            Row(
                "import, memory with an Assistant",
                rf"and Assistant\s+\S+ ms\s+{NUMBER} MB",
                rf"\(Qwen-Agent\)\s+\S+ ms\s+{NUMBER} MB",
                "MB",
            ),
        ),
    ),
    Script(
        "streaming.py",
        (Row("streaming, CPU of one answer", rf"^qwen_agentkit{column(1)}", rf"^Qwen-Agent{column(1)}", "s"),),
        ("--chunks", "8000"),
        ("--chunks", "2000"),
    ),
    Script(
        "long_history.py",
        (Row("400 messages of history, CPU a call", rf"^qwen_agentkit{column(3)}", rf"^Qwen-Agent{column(3)}", "ms"),),
        ("--calls", "20"),
        ("--calls", "5"),
    ),
    Script(
        "tool_loop.py",
        (
            Row("tool round, CPU", rf"^qwen_agentkit: {NUMBER} ms", rf"^qwen_agent: {NUMBER} ms", "ms"),
            Row(
                "8 parallel tools of 0.3 s",
                rf"^qwen_agentkit:.*? {NUMBER} s for 8",
                rf"^qwen_agent:.*? {NUMBER} s for 8",
                "s",
            ),
            Row("runs at once, wall time", rf"^qwen_agentkit:.*? {NUMBER} s for \d+ runs", "", "s"),
            Row("runs at once, memory kept", rf"^qwen_agentkit:.*? {NUMBER} MB", "", "MB"),
        ),
        (),
        ("--runs", "30"),
    ),
    Script(
        "teams.py",
        (
            team_row("group chat, CPU of a late turn", "ms CPU a turn, last tenth", "ms"),
            team_row("group chat, CPU in all", "s CPU in all", "s"),
        ),
        (),
        ("--rounds", "60"),
    ),
    *(
        Script(
            "second_question.py",
            (
                Row(
                    f"first question, {size} chunks in {files} files",
                    rf"^qwen_agentkit: {NUMBER} s",
                    rf"^qwen_agent: {NUMBER} s",
                    "s",
                ),
                Row(
                    f"second question, {size} chunks in {files} files",
                    rf"^qwen_agentkit:.*question, {NUMBER} ms",
                    rf"^qwen_agent:.*question, {NUMBER} ms",
                    "ms",
                ),
            ),
            ("--words", "83000", "--files", files, "--seconds", "1800"),
            ("--words", "83000", "--files", files) if size == "1k" else None,
            seconds=2 * 1800.0,
        )
        for size, files in (("1k", "1"), ("10k", "10"), ("100k", "100"))
    ),
    Script("scale.py", scale_rows(), (), ("1000",)),
    *(
        Script(
            f"reading.py {ending}",
            (
                Row(
                    f"reading {ending}",
                    rf"^qwen_agentkit .*? {NUMBER} a CPU second",
                    rf"^qwen_agent .*? {NUMBER} a CPU second",
                    "files a CPU s",
                    True,
                ),
            ),
            ("--files", "200", "--seconds", "60"),
            ("--files", "20", "--seconds", "20"),
        )
        for ending in FORMATS
    ),
    Script(
        "quality.py",
        tuple(
            Row(f"{measure} on {name}", rf"^{name}\s+\d+ questions\s+{before}{NUMBER}", "", "", True)
            for measure, before in (("recall@5", ""), ("nDCG@10", r"[\d.]+ / "))
            for name in ("scifact", "clapnq_dev", "cmrc2018", "xquad_en", "xquad_zh")
        ),
        (),
        ("--sets", "cmrc2018", "xquad_en"),
        needs_data=True,
    ),
    Script(
        "answers.py",
        tuple(
            Row(f"{what}, {name}", rf"^{name}\s+{before}{NUMBER}", "", "share", True)
            for what, before in (
                ("quotes hold the answer", r".*held out \d+ questions "),
                ("declined rightly", r"fitted [\d.]+ / [\d.]+  held out "),
                ("declined wrongly", r"fitted [\d.]+ / [\d.]+  held out [\d.]+ / "),
            )
            for name in ("cmrc2018", "xquad_en", "xquad_zh")
        ),
        (),
        ("--questions", "60"),
        needs_data=True,
    ),
)


def documents_of(folder: Path, ending: str, held: Path) -> Path | None:
    """A folder with the documents of one kind alone; None when there are none."""
    found = sorted(folder.rglob(f"*.{ending}"))
    if not found:
        return None
    chosen = held / ending
    chosen.mkdir()
    for path in found:
        shutil.copy(path, chosen / path.name)
    return chosen


def output_of(script: Script, given: argparse.Namespace, held: Path) -> str:
    """What the script printed, with its errors; why it was left out, when it was."""
    if script.needs_data and not os.environ.get(DATA):
        return f"left out: {DATA} names no folder"
    name, _, ending = script.name.partition(" ")
    arguments = list(script.quick or () if given.quick else script.whole)
    if ending:
        folder = documents_of(given.documents, ending, held)
        if folder is None:
            return f"left out: no {ending} in {given.documents.name}"
        arguments = [str(folder), *arguments]
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / name), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=held,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=script.seconds,
        )
    except subprocess.TimeoutExpired as error:
        text = error.stdout or b""
        return (text.decode("utf-8", "replace") if isinstance(text, bytes) else text) + "\nfailed: not done in time"
    return done.stdout if done.returncode == 0 else f"{done.stdout}\nfailed with status {done.returncode}"


def figure(pattern: str, output: str) -> float | None:
    found = re.search(pattern, output, re.MULTILINE) if pattern else None
    return float(found[1].replace(",", "")) if found else None


def lines(script: Script, output: str) -> Iterator[str]:
    """The script's lines of the table."""
    shown = 0
    for row in script.rows:
        ours, peers = figure(row.ours, output), figure(row.peers, output)
        if ours is None and peers is None:
            continue
        shown += 1
        times = ""
        if ours and peers:
            times = f"{(ours / peers if row.more_is_better else peers / ours):.1f} x"
        yield f"{row.label:<40}{number(ours):>14}{number(peers):>14}{times:>10}  {row.unit}"
    if not shown:
        yield f"{script.name:<40}  {(output.strip().splitlines() or ['printed nothing'])[-1][:100]}"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Every comparison in one table.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--only", nargs="*", default=[], help="scripts whose name holds one of these words")
    parser.add_argument("--documents", type=Path, default=ROOT / "resources", help="documents to be read")
    parser.add_argument("--verbose", action="store_true", help="print what each script prints")
    given = parser.parse_args()
    if not os.environ.get(PEER):
        print(f"Qwen-Agent is left out: {PEER} names no Python that has it.\n")
    print(f"{'':<40}{'qwen_agentkit':>14}{'Qwen-Agent':>14}{'better':>10}")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as held:
        for script in SCRIPTS:
            if given.quick and script.quick is None:
                continue
            if given.only and not any(word in script.name for word in given.only):
                continue
            output = output_of(script, given, Path(held))
            if given.verbose:
                print(output, file=sys.stderr)
            for line in lines(script, output):
                print(line, flush=True)
    print(f"\n{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
