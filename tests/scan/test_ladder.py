"""The ladder stands on any store, and its rungs are configurations like those of a search."""

from dataclasses import replace

import pytest

from bv_search.heads.config import ConstantHead, HeadShape, LinearHead, check_fit
from bv_search.scan.ladder import MAJORITY, PROBE, rungs_of
from bv_search.scan.trial import TrialConfig

CLASSES = HeadShape(layers=3, width=8, outputs=4, per_token=False, tokens=1)
SHAPES = [CLASSES, replace(CLASSES, tokens=128), replace(CLASSES, outputs=2, per_token=True, tokens=384)]


@pytest.mark.parametrize("shape", SHAPES, ids=["one token", "all tokens", "spans"])
def test_it_leads_from_the_most_frequent_answer_over_each_channel_to_all_of_them(shape: HeadShape) -> None:
    rungs = list(rungs_of(shape))

    assert [rung.trial for rung in rungs] == ["majority", "probe-0", "probe-1", "probe-2", "probe-all"]
    assert [rung.rung for rung in rungs] == [MAJORITY, *[PROBE] * 4]
    heads = [rung.config.head for rung in rungs]
    assert heads == [ConstantHead(), *(LinearHead(channels=n) for n in range(3)), LinearHead()]
    for head in heads:
        check_fit(head, shape)


@pytest.mark.parametrize("shape", SHAPES, ids=["one token", "all tokens", "spans"])
def test_what_can_be_solved_for_is_not_trained(shape: HeadShape) -> None:
    """There is no solver for spans: their probes are trained until they have learned."""
    solved = {rung.trial for rung in rungs_of(shape) if rung.is_solved}
    trained = {rung.trial for rung in rungs_of(shape)} - solved
    probes = {"probe-0", "probe-1", "probe-2", "probe-all"}
    assert (solved, trained) == (
        ({"majority"}, probes) if shape.per_token else ({"majority", *probes}, set())
    )


@pytest.mark.parametrize("shape", SHAPES, ids=["one token", "all tokens", "spans"])
def test_what_a_journal_says_of_a_rung_is_its_configuration(shape: HeadShape) -> None:
    for rung in rungs_of(shape):
        assert TrialConfig.from_json(rung.to_json()) == rung.config
        assert (rung.config.inputs, rung.config.training.passes) == ("standard", "auto")
        assert ("learning_rate" in rung.to_json()) is not rung.is_solved
