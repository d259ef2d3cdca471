"""How well `best_sentences` answers and declines, and how its weights were fitted.

    QWEN_AGENTKIT_BENCH_DATA=folder python tests/benchmarks/answers.py [--passages 40] [--questions 600] [--fit]

Answers: the whole set is indexed, the best passages of each question are given to `best_sentences`; counted is in how
many answers the labelled one stands, and in how many in the best quote. Declines: one half of the documents (by their
order) is indexed; asked are questions about it, and as many about the other half, which should be declined.

Questions and documents are parted: `fitted` rows are of the part that the weights were fitted on, `held out` rows of
the other. `--fit` prints weights fitted anew on the first part.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from quality import SEED, load

from qwen_agentkit.rag import DocumentIndex
from qwen_agentkit.utils.knowledge import Passage
from qwen_agentkit.utils.text import answer as answering
from qwen_agentkit.utils.text.answer_case import read_case
from qwen_agentkit.utils.text.answer_weights import (
    CERTAINTY_WEIGHTS,
    FOUND_CERTAINTY_WEIGHTS,
    RANKING_WEIGHTS,
)

SETS = ("cmrc2018", "xquad_en", "xquad_zh")


def part_of(key: str) -> int:
    """0 for what is fitted on, 1 for what is held out."""
    return int(hashlib.md5(key.encode()).hexdigest(), 16) % 2


def labels(name: str) -> dict[str, list[str]]:
    """Question -> its labelled answers."""
    import json

    file = Path(os.environ["QWEN_AGENTKIT_BENCH_DATA"], name, "queries.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row.get("answer") or [] for row in rows}


def holds(answers: list[str], text: str) -> bool:
    """Whether a labelled answer stands in a text, blanks and letter case aside."""
    plain = re.sub(r"\s+", "", text).lower()
    return any(re.sub(r"\s+", "", one).lower() in plain for one in answers if one.strip())


def passages_for(index: DocumentIndex, question: str, count: int) -> list[Passage]:
    """What a question's prompt would hold."""
    return [hit.passage(n) for n, hit in enumerate(index.search(question, top_k=count), 1)]


def answers(name: str, count: int, most: int) -> dict[int, list[tuple[Any, list[str]]]]:
    """(what was found, labelled answers) of the questions of each part; documents decide the part."""
    documents, questions, relevant = load(name)
    labelled = labels(name)
    random.Random(SEED).shuffle(questions)
    found: dict[int, list[tuple[Any, list[str]]]] = {0: [], 1: []}
    with DocumentIndex() as index:
        index.add_texts(documents)
        for key, text in questions:
            part = part_of(min(relevant[key]))
            if labelled[key] and len(found[part]) < most:
                found[part].append(((text, passages_for(index, text, count)), labelled[key]))
    return found


def halves(name: str, side: int, count: int, most: int) -> list[tuple[str, list[Passage], bool]]:
    """(question, passages of one half of the documents, whether the half has the answer), of one part."""
    documents, questions, relevant = load(name)
    place = {key: int(position >= len(documents) // 2) for position, (key, _) in enumerate(documents)}
    random.Random(SEED).shuffle(questions)
    with DocumentIndex() as index:
        index.add_texts([(key, text) for key, text in documents if place[key] == side])
        chosen = [one for one in questions if part_of(f"q{one[0]}") == side][:most]
        return [(text, passages_for(index, text, count), place[min(relevant[key])] == side) for key, text in chosen]


def report(count: int, most: int) -> None:
    """Prints both tables."""
    print(f"labelled answer among at most three quotes / in the best one, {count} passages")
    for name in SETS:
        found = answers(name, count, most)
        row = [f"{name:10}"]
        for part, title in ((0, "fitted"), (1, "held out")):
            any_quote = best_quote = 0
            quotes_in_all = 0
            for (question, passages), labelled in found[part]:
                ranked, _ = answering.rank_sentences(question, passages)
                quotes = answering.within_reach(ranked[:3])
                quotes_in_all += len(quotes)
                any_quote += any(holds(labelled, quote.text) for quote in quotes)
                best_quote += bool(quotes) and holds(labelled, quotes[0].text)
            size = len(found[part])
            shares = f"{any_quote / size:.3f} / {best_quote / size:.3f}"
            row.append(f"{title} {size} questions {shares}, {quotes_in_all / size:.1f} quotes")
        print("  ".join(row), flush=True)
    print("declined: of questions about the other half / of answerable ones")
    for name in SETS:
        row = [f"{name:10}"]
        for side, title in ((0, "fitted"), (1, "held out")):
            asked = halves(name, side, count, most)
            declined = [(not answering.best_sentences(text, passages).answered, has) for text, passages, has in asked]
            wrong = [one for one, has in declined if not has]
            right = [one for one, has in declined if has]
            row.append(f"{title} {sum(wrong) / len(wrong):.3f} / {sum(right) / len(right):.3f}")
        print("  ".join(row), flush=True)


def fit(most: int) -> None:
    """Fits both sets of weights on the first part and prints them."""
    import numpy

    cases = []
    for name in SETS:
        for count in (8, 40):
            for (question, passages), labelled in answers(name, count, most)[0]:
                case = read_case(question, passages)
                if case is not None:
                    held = numpy.array([holds(labelled, sentence.text) for sentence in case.ranked])
                    if held.any() and not held.all():
                        cases.append((numpy.array([sentence.features for sentence in case.ranked]), held))

    def ranking_slope(weights: Any) -> Any:
        slope = numpy.zeros_like(weights)
        for features, held in cases:
            chance = numpy.exp(features @ weights - (features @ weights).max())
            chance /= chance.sum()
            right = chance * held / max((chance * held).sum(), 1e-12)
            slope += features.T @ (chance - right)
        return slope / len(cases) + 1e-3 * weights

    ranking = _descend(ranking_slope, cases[0][0].shape[1])
    for title, weight in zip(RANKING_WEIGHTS, ranking, strict=True):
        print(f"    {title!r}: {weight:.2f},")
    for weights, found in ((CERTAINTY_WEIGHTS, False), (FOUND_CERTAINTY_WEIGHTS, True)):
        certainty = _fit_certainty(most, found)
        print("found by the search" if found else "given without scores")
        for title, weight in zip(weights, certainty, strict=True):
            print(f"    {title!r}: {weight:.2f},")


def _fit_certainty(most: int, found: bool) -> Any:
    """Weights of what tells an answer from a near miss, of passages with the scores of the search or without."""
    import numpy

    rows, answered, counted, groups = [], [], [], []
    for name in SETS:
        for count in (1, 3, 8, 40):
            for text, passages, has in halves(name, 0, count, most):
                given = passages if found else [replace(passage, searcher=None) for passage in passages]
                case = read_case(text, given)
                if case is not None:
                    rows.append(case.certainty())
                    answered.append(has)
                    counted.append(1.0 if count >= 8 else 0.5)
                    groups.append((name, has))
    features, labelled_as = numpy.array(rows), numpy.array(answered, float)
    # Each set counts as much as another, and in it the answerable questions as much as the rest.
    share = numpy.array(counted)
    for group in set(groups):
        place = numpy.array([one == group for one in groups])
        share[place] /= share[place].sum()
    share *= len(share) / share.sum()
    certainty = _logistic(features, labelled_as, share)
    # So many answerable questions are declined in the part that is fitted on.
    certainty[0] -= numpy.quantile((features @ certainty)[labelled_as > 0], 0.03 if found else 0.04)
    return certainty


def _logistic(features: Any, labels: Any, shares: Any) -> Any:
    """Logistic regression by Newton's method, over features of one spread; the first one is the constant."""
    import numpy

    middle, spread = features.mean(0), numpy.maximum(features.std(0), 1e-9)
    middle[0], spread[0] = 0.0, 1.0
    scaled = (features - middle) / spread
    weights = numpy.zeros(scaled.shape[1])
    held_small = numpy.r_[0.0, numpy.ones(len(weights) - 1)]
    for _ in range(40):
        chance = 1 / (1 + numpy.exp(-scaled @ weights))
        slope = scaled.T @ ((chance - labels) * shares) + held_small * weights
        curve = (scaled * (shares * chance * (1 - chance))[:, None]).T @ scaled + numpy.diag(held_small + 1e-9)
        weights -= numpy.linalg.solve(curve, slope)
    plain = weights / spread
    plain[0] -= (weights * middle / spread).sum()
    return plain


def _descend(slope: Any, size: int, steps: int = 300, rate: float = 0.1) -> Any:
    """Gradient descent with moments (Adam)."""
    import numpy

    weights, first, second = numpy.zeros(size), numpy.zeros(size), numpy.zeros(size)
    for step in range(1, steps + 1):
        down = slope(weights)
        first, second = 0.9 * first + 0.1 * down, 0.999 * second + 0.001 * down * down
        weights -= rate * (first / (1 - 0.9**step)) / (numpy.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def main() -> None:
    """Prints the figures, or the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=40, help="passages in a prompt")
    parser.add_argument("--questions", type=int, default=600, help="the most questions of each part and set")
    parser.add_argument("--fit", action="store_true", help="fit the weights anew and print them")
    arguments = parser.parse_args()
    if "QWEN_AGENTKIT_BENCH_DATA" not in os.environ:
        sys.exit("QWEN_AGENTKIT_BENCH_DATA names no folder of labelled sets; nothing is measured")
    if arguments.fit:
        fit(arguments.questions)
    else:
        report(arguments.passages, arguments.questions)


if __name__ == "__main__":
    main()
