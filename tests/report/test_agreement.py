"""Rows that only one of head and encoder gets right."""

import numpy as np
import pytest

from bv_search.report.agreement import agreements
from bv_search.report.facts import Facts, gather
from bv_search.scan.ladder import ENCODER
from tests.model.small_run import Small, make_run
from tests.stores import make_class_store

CONFIGS = {"0001": {"head": {"kind": "pooling"}, "learning_rate": 0.01}}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Of classes, by an encoder that guesses."""
    place = tmp_path_factory.mktemp("classes")
    store = make_class_store(place / "store", windows=100)
    return gather(make_run(store, place / "runs" / "first", CONFIGS))


def test_every_row_counts_once_for_every_model_but_the_encoder(facts: Facts) -> None:
    found = agreements(facts)
    assert [each.title for each in found] == [each.title for each in facts.standings if each.role != ENCODER]
    for each in found:
        assert each.both + each.alone + each.lost + each.neither == 64


def test_what_is_gained_and_lost_is_the_difference_of_the_scores(facts: Facts) -> None:
    encoder = facts.standing(ENCODER)
    assert encoder is not None
    theirs = np.mean(encoder.evaluation.outcome[:, 0] == encoder.evaluation.outcome[:, 1])
    for each in agreements(facts):
        (standing,) = (other for other in facts.standings if other.title == each.title)
        ours = np.mean(standing.evaluation.outcome[:, 0] == standing.evaluation.outcome[:, 1])
        assert each.alone - each.lost == pytest.approx(64 * (ours - theirs))


def test_spans_have_an_analysis_of_their_own(small: Small) -> None:
    assert agreements(gather(small.run)) == []
