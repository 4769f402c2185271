"""Differences between heads and encoder are paired, row by row."""

import numpy as np
import pytest

from bv_search.run.folder import Run
from bv_search.study.entry import Entry, entries_of
from bv_search.study.judged import Judged
from tests.model.small_run import Small, teach


def entry_of(run: Run, trial: str) -> Entry:
    return next(each for each in entries_of(run, 1.0) if each.first.id == trial)


def test_a_difference_is_that_of_the_scores(small: Small) -> None:
    judged = Judged(store=small.store)
    assert judged.encoder is not None
    for entry in entries_of(small.run, 1.0):
        delta = judged.over_encoder(entry)
        assert delta is not None
        assert delta.value == pytest.approx(entry.report - judged.encoder.score)
        assert delta.low <= delta.value <= delta.high


def test_a_head_that_knows_the_answers_is_surely_better(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.95)
    delta = Judged(store=small.store).over_encoder(entry_of(run, "0003"))
    assert delta is not None
    assert delta.word == "better"
    assert delta.low > 0.2


def test_the_encoder_is_a_tie_with_itself(small: Small) -> None:
    judged = Judged(store=small.store)
    assert judged.encoder is not None
    assert judged.encoder_logits is not None
    again = judged.evaluate(judged.encoder_logits)
    np.testing.assert_array_equal(again.draws(50), judged.encoder.draws(50))
