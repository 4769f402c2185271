"""The official SQuAD 2.0 scores: exact match and F1 of a text against the best of its gold answers.

Libraries are a known trap here (the no-answer case is often lost), so this is the definition itself:
lower case, no punctuation, no articles, single spaces; an unanswerable question is right only when
left unanswered.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bv_search.tasks.evaluation import Outcome

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
EXACT, F1, HAS_ANSWER = 0, 1, 2  # the columns of an outcome


@lru_cache(maxsize=1 << 17)
def normalise(text: str) -> tuple[str, ...]:
    """The words that count. Cached: one search scores the same gold answers for every head."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(gold: str, predicted: str) -> float:
    return float(normalise(gold) == normalise(predicted))


def f1(gold: str, predicted: str) -> float:
    gold_words, words = normalise(gold), normalise(predicted)
    if not gold_words or not words:
        return float(gold_words == words)
    shared = sum((Counter(gold_words) & Counter(words)).values())
    return 2.0 * shared / (len(gold_words) + len(words))


def score_text(predicted: str, golds: Sequence[str]) -> tuple[float, float, float]:
    """(exact, F1, whether there is an answer) of one question; no golds means unanswerable."""
    scored = [gold for gold in golds if normalise(gold)] or [""]
    return (
        max(exact(gold, predicted) for gold in scored),
        max(f1(gold, predicted) for gold in scored),
        float(bool(golds)),
    )


def mean_f1(outcome: Outcome) -> float:
    return float(outcome[:, F1].mean()) if len(outcome) else 0.0


def span_metrics(outcome: Outcome) -> dict[str, float]:
    """The official figures, as fractions of 1, under their official names."""
    metrics = {"exact": float(outcome[:, EXACT].mean()), "f1": mean_f1(outcome)}
    answered = outcome[:, HAS_ANSWER] == 1.0
    for prefix, chosen in (("HasAns", outcome[answered]), ("NoAns", outcome[~answered])):
        if len(chosen):
            metrics[f"{prefix}_exact"] = float(np.mean(chosen[:, EXACT]))
            metrics[f"{prefix}_f1"] = float(np.mean(chosen[:, F1]))
    return metrics
