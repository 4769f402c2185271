"""What models do with questions that have an answer, and with those that have none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bv_search.model.standings import Standing
from bv_search.report.facts import Facts
from bv_search.scan.ladder import ENCODER
from bv_search.tasks.span import BestSpans, best_spans
from bv_search.tasks.squad_score import EXACT, HAS_ANSWER, score_text
from bv_search.tasks.task import Kind


@dataclass(frozen=True, kw_only=True)
class SpanFacts:
    """Shares are of 1; None where there is nothing to take a share of, or no encoder to compare with."""

    role: str
    title: str
    has_answer: float | None  # exact match on questions with an answer
    no_answer: float | None  # … and without
    silent: float | None  # of wrong ones with an answer: said that there is none
    second: float | None  # of all wrong ones: the best span of another text would have been right
    alone: int | None  # right where the encoder is wrong
    lost: int | None  # wrong where the encoder is right
    alone_words: float | None  # mean words of the passages of those
    lost_words: float | None


def span_facts(facts: Facts) -> list[SpanFacts]:
    if facts.task.kind is not Kind.SPAN:
        return []
    encoder = facts.standing(ENCODER)
    theirs = None if encoder is None else encoder.evaluation.outcome[:, EXACT] == 1.0
    return [facts_of(standing, facts.index, theirs) for standing in facts.standings]


def facts_of(standing: Standing, index: pa.Table, theirs: np.ndarray | None) -> SpanFacts:
    best = best_spans(index, standing.logits)
    outcome = standing.evaluation.outcome
    right, answered = outcome[:, EXACT] == 1.0, outcome[:, HAS_ANSWER] == 1.0
    silent = np.array([text == "" for text in best.texts(index)])
    words = _passage_words(index, best.first_window)
    alone, lost = (None, None) if theirs is None else (right & ~theirs, theirs & ~right)
    return SpanFacts(
        role=standing.role,
        title=standing.title,
        has_answer=_share(right[answered]),
        no_answer=_share(right[~answered]),
        silent=_share(silent[answered & ~right]),
        second=_share(second_right(index, standing.logits, best)[~right]),
        alone=_count(alone),
        lost=_count(lost),
        alone_words=_mean(words, alone),
        lost_words=_mean(words, lost),
    )


def second_right(index: pa.Table, logits: Sequence[np.ndarray], best: BestSpans) -> np.ndarray:
    """Whether the best span of another text than the answer would have been exactly right."""
    second = best_spans(index, logits, other_than=best.texts(index))
    golds = index["golds"].combine_chunks().take(pa.array(best.first_window)).to_pylist()
    scored = [score_text(text, gold) for text, gold in zip(second.spans(index), golds, strict=True)]
    right: np.ndarray = np.array(scored)[:, EXACT] == 1.0
    return right & (second.score > -np.inf)


def _passage_words(index: pa.Table, rows: np.ndarray) -> np.ndarray:
    passages: Sequence[str] = index["passage"].combine_chunks().take(pa.array(rows)).to_pylist()
    return np.array([len(passage.split()) for passage in passages], dtype=np.float64)


def _share(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _count(rows: np.ndarray | None) -> int | None:
    return None if rows is None else int(rows.sum())


def _mean(values: np.ndarray, rows: np.ndarray | None) -> float | None:
    return None if rows is None or not rows.any() else float(values[rows].mean())
