"""How far a model's confidence can be believed, on report rows: cut into parts by it, and each part counted.

Of classes a model is as sure as its highest probability. Of spans, as the share that its answer has of all
spans of a window (of "no answer", the least of them); right is an exact match. A value comes without a
confidence: there, rows are cut into parts by what was predicted, beside what was true on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bv_search.model.standings import BEST, ENSEMBLE, Standing
from bv_search.report.facts import Facts
from bv_search.scan.ladder import ENCODER
from bv_search.tasks.span import best_spans
from bv_search.tasks.squad_score import EXACT
from bv_search.tasks.task import Kind

SHOWN = (ENCODER, BEST, ENSEMBLE)
BINS, LEAST_ROWS = 10, 20  # of the rows, as many in each; where rows are few, fewer parts
NORMAL = 1.96  # standard errors of a 95 % interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Rows of which a model says about the same."""

    said: float  # mean confidence, or predicted value
    found: float  # share that is right, or mean true value
    interval: tuple[float, float]  # 95 %, of what was found
    rows: int


@dataclass(frozen=True, kw_only=True)
class Calibration:
    role: str
    title: str
    bins: Sequence[Bin]

    @property
    def gap(self) -> float:
        """Between what is said and what is found, mean over rows: the expected calibration error."""
        rows = sum(one.rows for one in self.bins)
        return sum(one.rows * abs(one.said - one.found) for one in self.bins) / rows

    @property
    def lean(self) -> float:
        """What is said minus what is found: above 0, a model is too sure, or its values are too high."""
        rows = sum(one.rows for one in self.bins)
        return sum(one.rows * (one.said - one.found) for one in self.bins) / rows


def calibrations(facts: Facts) -> list[Calibration]:
    models = [facts.standing(role) for role in SHOWN]
    return [_calibration(facts, model) for model in models if model is not None]


def _calibration(facts: Facts, model: Standing) -> Calibration:
    said, found = _said_and_found(facts, model)
    bound = _mean_interval if facts.task.kind is Kind.REGRESSION else share_interval
    bins = [
        Bin(
            said=float(said[rows].mean()),
            found=float(found[rows].mean()),
            interval=bound(found[rows]),
            rows=len(rows),
        )
        for rows in cut_by(said)
    ]
    return Calibration(role=model.role, title=model.title, bins=bins)


def _said_and_found(facts: Facts, model: Standing) -> tuple[Floats, Floats]:
    outcome = model.evaluation.outcome
    match facts.task.kind:
        case Kind.SPAN:
            return span_confidence(facts.index, model.logits), (outcome[:, EXACT] == 1.0).astype(np.float64)
        case Kind.CLASSIFICATION:
            return class_confidence(model.logits), (outcome[:, 0] == outcome[:, 1]).astype(np.float64)
        case Kind.REGRESSION:
            return outcome[:, 0], outcome[:, 1]


def class_confidence(logits: Sequence[np.ndarray]) -> Floats:
    """Of every row, the probability of the class that it is answered with."""
    logits_RC = np.stack(logits).astype(np.float64)
    weights = np.exp(logits_RC - logits_RC.max(axis=1, keepdims=True))
    return np.asarray(weights.max(axis=1) / weights.sum(axis=1))


def span_confidence(index: pa.Table, logits: Sequence[np.ndarray]) -> Floats:
    """Of every row, the share of its answer among all spans of the window where it stands."""
    best = best_spans(index, logits)
    totals_W = np.array([_log_sum(window[:, 0]) + _log_sum(window[:, 1]) for window in logits])
    silence_W = np.array([window[0].astype(np.float64).sum() for window in logits]) - totals_W
    rows = {row: number for number, row in enumerate(best.rows)}
    silence_R = np.full(len(rows), np.inf)
    np.minimum.at(silence_R, [rows[row] for row in index["row"].to_pylist()], silence_W)
    speech_R = best.score.astype(np.float64) - totals_W[best.window]
    return np.exp(np.where(best.score > best.null, speech_R, silence_R))


def _log_sum(values: np.ndarray) -> float:
    top = float(values.max())
    return top + float(np.log(np.exp(values.astype(np.float64) - top).sum()))


def cut_by(said: Floats) -> list[npt.NDArray[np.int64]]:
    """Rows in the order of what is said of them, in bins of one size."""
    count = max(1, min(BINS, len(said) // LEAST_ROWS))
    return [rows for rows in np.array_split(np.argsort(said, kind="stable"), count) if len(rows)]


def share_interval(found: Floats) -> tuple[float, float]:
    """Wilson's: inside of 0 and 1, and not empty where all rows are right."""
    rows, share = len(found), float(found.mean())
    middle = (share + NORMAL**2 / (2 * rows)) / (1 + NORMAL**2 / rows)
    half = NORMAL * np.sqrt(share * (1 - share) / rows + NORMAL**2 / (4 * rows**2)) / (1 + NORMAL**2 / rows)
    return float(middle - half), float(middle + half)


def _mean_interval(found: Floats) -> tuple[float, float]:
    half = NORMAL * float(found.std(ddof=1)) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return float(found.mean() - half), float(found.mean() + half)
