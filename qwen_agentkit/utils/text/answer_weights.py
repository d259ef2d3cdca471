"""The weights of `qwen_agentkit.utils.text.answer`, each beside what it weighs, in the order of the features.

Fitted on one half of cmrc2018, XQuAD English and XQuAD Chinese with `tests/benchmarks/answers.py --fit`, which also
prints what they reach on the other half.
"""

from __future__ import annotations

# What a sentence is ranked by, each a share of the question's weight unless said otherwise.
RANKING_WEIGHTS = {
    "held": 3.54,
    "BM25": 3.25,
    "held by the sentence before alone": 2.99,
    "held by the sentence after alone": 1.54,
    "held by title and headings alone": 0.5,
    "held by its window": 1.58,
    "BM25 of its window beside the best window": 1.97,
    "is in the best window": 0.34,
    "1 / rank of its passage": 2.35,
    "holds a date that is asked for": 1.95,
    "a number": 1.58,
    "a name": 0.39,
    "a place": 1.56,
    "a reason": 1.49,
    "a number of what is counted": 2.05,
    "defines what is asked": 1.0,
    "neighbouring terms kept together": 1.65,
    "length": 0.0,
}
# What tells an answer from a near miss.
CERTAINTY_WEIGHTS = {
    "1": -8.9,
    "weight missing in all passages": -2.8,
    "weight held by the sentence": -2.19,
    "with its neighbours": -0.8,
    "by its window": -3.02,
    "length held by the sentence": 0.85,
    "with its neighbours' length": 3.61,
    "length held by its window": 2.44,
    "the question has names": 0.8,
    "share of names not in the window": -1.86,
    "share of names not near": -0.19,
    "BM25 of the best window, of what could be reached": 10.25,
    "its lead over the second": -1.3,
    "its lead over the next five": 3.72,
    "lead times BM25": 6.5,
    "there is one window only": 0.76,
    "likelihood of the best sentence": 0.58,
    "number of terms": 0.14,
    "length of the terms held": 1.43,
    "score of the best sentence": 2.4,
    "holds what is asked for": -0.82,
    "does not": -0.41,
}
