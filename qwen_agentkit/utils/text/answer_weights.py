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
    "1": -9.2,
    "weight missing in all passages": -2.47,
    "weight held by the sentence": -1.69,
    "with its neighbours": -1.07,
    "by its window": -2.78,
    "length held by the sentence": 1.18,
    "with its neighbours' length": 3.6,
    "length held by its window": 3.3,
    "the question has names": 0.66,
    "share of names not in the window": -0.72,
    "share of names not near": -0.82,
    "BM25 of the best window, of what could be reached": 6.11,
    "its lead over the second": -1.52,
    "its lead over the next five": 2.84,
    "lead times BM25": 14.2,
    "there is one window only": 0.92,
    "likelihood of the best sentence": 0.61,
    "number of terms": 0.87,
    "length of the terms held": 2.01,
    "score of the best sentence": 1.61,
    "holds what is asked for": -0.33,
    "does not": -0.57,
    "the question is Chinese": -2.4,
}
# The same where the passages have the scores of the search by terms; those follow.
FOUND_CERTAINTY_WEIGHTS = {
    "1": -10.57,
    "weight missing in all passages": -3.43,
    "weight held by the sentence": -0.49,
    "with its neighbours": 0.54,
    "by its window": -1.54,
    "length held by the sentence": 1.95,
    "with its neighbours' length": 1.36,
    "length held by its window": -1.66,
    "the question has names": 0.47,
    "share of names not in the window": -1.15,
    "share of names not near": -0.42,
    "BM25 of the best window, of what could be reached": -4.01,
    "its lead over the second": -1.24,
    "its lead over the next five": 0.67,
    "lead times BM25": 11.93,
    "there is one window only": -1.31,
    "likelihood of the best sentence": 1.01,
    "number of terms": 1.4,
    "length of the terms held": 1.37,
    "score of the best sentence": -0.33,
    "holds what is asked for": -0.08,
    "does not": -0.62,
    "the question is Chinese": -2.26,
    "score of the first found": 17.8,
    "its lead over the second found": -4.4,
    "its lead over the next five found": 10.16,
    "only one was found": -0.03,
    "what it is above the line of the others": -8.36,
    "logarithm of its ratio to that line": 1.08,
    "too few were found for a line": 1.65,
}
