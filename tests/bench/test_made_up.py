"""Heads whose worth is made of their names."""

import numpy as np

from bv_search.bench.made_up import MadeUpFinals, made_up_segment, worth
from bv_search.heads.config import HeadShape

NAMES = [f"{number:04d}" for number in range(200)]


def test_a_head_is_worth_the_same_whoever_asks_and_heads_differ() -> None:
    found = [worth(name) for name in NAMES]
    assert found == [worth(name) for name in NAMES]
    assert len(set(found)) == len(found)
    assert all(0 <= value <= 1 for value in found)
    assert 0.4 < np.mean(found) < 0.6


def test_what_is_seen_on_the_way_tells_something_of_the_end_and_not_all() -> None:
    ends, early = [worth(name) for name in NAMES], [worth(name, 16) for name in NAMES]
    assert 0.7 < np.corrcoef(ends, early)[0, 1] < 0.99


def test_a_segment_has_a_score_where_it_was_asked_for() -> None:
    scored, silent = (made_up_segment("0001", 16, b"state", scored=each) for each in (True, False))
    assert scored.found is not None
    assert scored.found.score == worth("0001", 16)
    assert scored.found.loss == 1.0 - scored.found.score
    assert silent.found is None
    assert scored.state == silent.state == b"state"


def test_only_what_chooses_has_draws_and_only_what_is_told_an_interval() -> None:
    shape = HeadShape(layers=2, width=4, outputs=2, per_token=False, tokens=1)
    final = MadeUpFinals(shape, {"select": ["a", "b"], "report": ["c"]}).make("0001")
    assert (len(final.select.draws), final.select.interval) == (400, None)
    assert (final.report.draws, final.report.interval) == ((), (worth("0001"), worth("0001")))
    assert np.shape(final.select.logits) == (2, 2)
