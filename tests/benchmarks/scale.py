"""Cost of an index by its size: adding, questions, memory, disk, opening again, one edited file.

    python tests/benchmarks/scale.py [CHUNKS ...]        (1000 10000 100000 when none is given)

Text is taken from the documents in the folder `QWEN_AGENTKIT_BENCH_DATA`, half English and half Chinese, mixed anew
for each chunk; without the folder it is made of words. Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
SEED = 7
QUESTIONS = 200


def sentences(data: str | None) -> tuple[list[str], list[str]]:
    """Sentences to make chunks of, English and Chinese."""
    from qwen_agentkit.utils.text.sentences import split_sentences

    def read(names: tuple[str, ...]) -> list[str]:
        found = []
        for name in names:
            file = Path(data or "") / name / "docs.jsonl"
            if data and file.exists():
                for line in file.read_text(encoding="utf-8").splitlines():
                    text = json.loads(line)["text"]
                    found += [text[start:end] for start, end in split_sentences(text)]
        return found

    english, chinese = read(("scifact", "clapnq_dev", "xquad_en")), read(("cmrc2018", "xquad_zh"))
    if not english or not chinese:
        dice = random.Random(SEED)
        words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9))) for _ in range(20_000)]
        signs = [chr(dice.randint(0x4E00, 0x8000)) for _ in range(4_000)]
        english = [" ".join(dice.choices(words, k=18)) + "." for _ in range(20_000)]
        chinese = ["".join(dice.choices(signs, k=30)) + "。" for _ in range(20_000)]
    return english, chinese


def chunk(english: list[str], chinese: list[str], number: int) -> str:
    """Text of one chunk, about 2,000 English or 600 Chinese characters."""
    dice = random.Random(number)
    if number % 2:
        return "".join(dice.choices(chinese, k=10))[:600]
    return " ".join(dice.choices(english, k=13))[:2000]


def memory_peak() -> float:
    """Peak memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure(chunks: int) -> dict[str, float]:
    """All figures for one size."""
    from qwen_agentkit.rag import DocumentIndex
    from qwen_agentkit.utils.text.sentences import split_sentences

    english, chinese = sentences(os.environ.get("QWEN_AGENTKIT_BENCH_DATA"))
    base = memory_peak()
    figures: dict[str, float] = {"chunks": chunks}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["QWEN_AGENTKIT_DEFAULT_WORKSPACE"] = os.path.join(folder, "workspace")
        path = os.path.join(folder, "index")
        began = time.perf_counter()
        with DocumentIndex(path) as index:
            index.add_texts((f"t{number}", chunk(english, chinese, number)) for number in range(chunks))
            figures["add_s"] = time.perf_counter() - began
            figures["disk_mb"] = index.stats["bytes"] / 1e6
        dice = random.Random(SEED)
        asked = []
        for _ in range(QUESTIONS):
            number = dice.randrange(chunks)
            text = chunk(english, chinese, number)
            start, end = dice.choice(split_sentences(text))
            asked.append((f"t{number}", " ".join(text[start:end].split()[:12])[: 24 if number % 2 else 200]))
        began = time.perf_counter()
        index = DocumentIndex(path)
        index.search("motor")
        figures["reopen_s"] = time.perf_counter() - began
        times, found = [], 0
        for source, question in asked:
            began = time.perf_counter()
            hits = index.search(question, top_k=10)
            times.append((time.perf_counter() - began) * 1000)
            found += any(hit.source == source for hit in hits)
        times.sort()
        figures["query_p50_ms"] = statistics.median(times)
        figures["query_p95_ms"] = times[int(0.95 * len(times))]
        figures["hit_at_10"] = found / len(asked)
        file = Path(folder, "note.md")
        file.write_text("# Note\n\nThe quokka pump is guaranteed for 27 months.\n", encoding="utf-8")
        index.add(file)
        file.write_text("# Note\n\nThe quokka pump is guaranteed for 36 months.\n", encoding="utf-8")
        began = time.perf_counter()
        index.add(file)
        assert "36" in index.search("quokka pump", top_k=1)[0].text
        figures["edit_s"] = time.perf_counter() - began
        index.close()
    figures["peak_mb"] = memory_peak()
    figures["of_that_text_mb"] = base
    return figures


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chunks", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--one", action="store_true", help="measure one size in this process, print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.chunks[0])))
        return
    head: list[str] = []
    for size in arguments.chunks:
        environment = {**os.environ, "PYTHONPATH": ROOT}
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(size)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        figures = json.loads(done.stdout)
        if not head:
            head = list(figures)
            print(" | ".join(f"{name:>15}" for name in head))
        print(
            " | ".join(f"{figures[name]:15,.3f}" if name != "chunks" else f"{figures[name]:15,}" for name in head),
            flush=True,
        )


if __name__ == "__main__":
    main()
