"""Confidence: what a model says of itself, and what becomes of it."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from bv_search.report.calibration import (
    BINS,
    LEAST_ROWS,
    Bin,
    Calibration,
    calibrations,
    class_confidence,
    cut_by,
    share_interval,
    span_confidence,
)
from bv_search.report.facts import gather
from bv_search.tasks.span import best_spans
from bv_search.tasks.window import WINDOW_SCHEMA
from tests.model.small_run import Small

WORDS = ["Ada", "met", "Bob"]


def index_of(*rows: str) -> pa.Table:
    """A window of four tokens each; windows of one row share its name."""
    windows = [
        {
            "id": f"{row}#{number}",
            "row": row,
            "length": 4,
            "starts": [-1, 0, 4, 8],
            "ends": [-1, 3, 7, 11],
            "passage": " ".join(WORDS),
            "golds": ["Ada"],
        }
        for number, row in enumerate(rows)
    ]
    return pa.Table.from_pylist(windows, schema=WINDOW_SCHEMA)


def logits_of(probabilities: list[float]) -> np.ndarray:
    """The same for starts and ends."""
    return np.log(np.array([probabilities, probabilities], dtype=np.float32)).T


def test_a_class_is_as_sure_as_its_probability() -> None:
    found = class_confidence([np.log(np.array([0.2, 0.8])), np.log(np.array([0.5, 0.5]))])
    assert found.tolist() == pytest.approx([0.8, 0.5])


def test_a_span_is_as_sure_as_its_share_of_all_spans() -> None:
    index = index_of("a", "b")
    logits = [logits_of([0.1, 0.7, 0.1, 0.1]) + 3.0, logits_of([0.9, 0.05, 0.03, 0.02])]
    assert best_spans(index, logits).texts(index) == ["Ada", ""]
    assert span_confidence(index, logits).tolist() == pytest.approx([0.49, 0.81], rel=1e-4)


def test_no_answer_is_as_sure_as_the_least_of_its_windows() -> None:
    index = index_of("a", "a")
    logits = [logits_of([0.9, 0.05, 0.03, 0.02]), logits_of([0.7, 0.1, 0.1, 0.1])]
    assert best_spans(index, logits).texts(index) == [""]
    assert span_confidence(index, logits).tolist() == pytest.approx([0.49], rel=1e-4)


def test_parts_are_of_one_size_and_in_the_order_of_confidence() -> None:
    said = np.random.default_rng(0).random(405)
    bins = cut_by(said)
    assert len(bins) == BINS
    assert {len(one) for one in bins} == {40, 41}
    assert all(said[low].max() <= said[high].min() for low, high in pairwise(bins))
    assert len(cut_by(said[: 3 * LEAST_ROWS])) == 3
    assert len(cut_by(said[:5])) == 1


def test_a_share_has_an_interval_even_where_all_is_right() -> None:
    low, high = share_interval(np.ones(40))
    assert 0.9 < low < 0.95
    assert high == pytest.approx(1.0)


def test_the_gap_counts_both_ways_and_the_lean_only_what_is_left() -> None:
    bins = [
        Bin(said=0.6, found=0.5, interval=(0, 1), rows=30),
        Bin(said=0.8, found=1.0, interval=(0, 1), rows=10),
    ]
    found = Calibration(role="encoder", title="encoder", bins=bins)
    assert found.gap == pytest.approx((30 * 0.1 + 10 * 0.2) / 40)
    assert found.lean == pytest.approx((30 * 0.1 - 10 * 0.2) / 40)


def test_every_model_of_a_run_is_judged_on_all_rows(small: Small) -> None:
    facts = gather(small.run)
    found = calibrations(facts)
    assert [each.role for each in found] == ["encoder", "best head"]
    for each in found:
        assert sum(one.rows for one in each.bins) == len(facts.standings[0].evaluation.rows)
        assert all(0 <= one.said <= 1 and 0 <= one.found <= 1 for one in each.bins)
