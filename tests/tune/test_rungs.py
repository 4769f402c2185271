"""Rungs: where heads stop to be compared, and with whom."""

import pytest

from bv_search.scan.trial import TrialConfig
from bv_search.tune.rungs import FLOOR, FLOOR_INSIDE, REDUCTION, Rungs, plan_rungs

WINDOWS = (48, 200, 2000, 3300, 9000, 90_000)
SETTINGS: list[dict[str, object]] = [
    {},
    {"batch": 48},
    {"batch": 128},
    {"passes": 1},
    {"passes": 2},
    {"passes": 12},
    {"data_fraction": 0.1},
    {"data_fraction": 0.3, "passes": 5, "batch": 32},
]


def config(**settings: object) -> TrialConfig:
    return TrialConfig.from_json({"head": {"kind": "pooling"}, **settings})


def plan(*configs: TrialConfig, windows: int = 9000, halving: bool = True, one_token: bool = False) -> Rungs:
    return plan_rungs(configs or [config()], windows, halving=halving, one_token=one_token)


def test_rungs_are_parts_of_a_pass_and_many_passes_each_three_times_as_far() -> None:
    """9,000 windows are 563 micro-batches, and a head that is checked on the way is it at thirds of them."""
    fixed = config(passes=12)
    assert plan(fixed).of(fixed) == [63, 188, 563, 1689, 5067]
    assert plan(fixed, one_token=True).of(fixed) == [563, 1689, 5067], "steps end at whole passes alone"
    assert plan().of(config()) == [63, 375, 563, 1689], "behind the first check, at checks"
    assert plan(one_token=True).of(config()) == [187, 375, 563, 1689]


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("one_token", [False, True])
def test_every_rung_lies_where_it_may(windows: int, settings: dict[str, object], one_token: bool) -> None:
    own = config(**settings)
    rungs = plan(own, windows=windows, one_token=one_token)
    course, found = rungs.course(own), rungs.of(own)

    assert found == sorted(set(found))
    assert all(FLOOR * own.training.batch // 16 <= rung < course.end for rung in found)
    first = 0 if one_token else course.next_border(0)
    assert all(course.is_border(rung) for rung in found if rung >= first)


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_head_stops_at_each_of_its_rungs_and_at_its_end(windows: int, settings: dict[str, object]) -> None:
    own = config(**settings)
    rungs = plan(own, windows=windows)
    stops, position, end = [], 0, rungs.course(own).end
    while position < end:
        position = rungs.next_stop(position, own)
        stops.append(position)
    assert stops == [*rungs.of(own), end]


def test_heads_that_differ_in_what_a_search_varies_stop_at_the_same_places() -> None:
    """Or they could not be compared."""
    both = config(batch=16, learning_rate=0.1), config(batch=128, learning_rate=0.01)
    rungs = plan(*both)
    slow, quick = (rungs.of(each) for each in both)
    assert quick[0] >= FLOOR * 128 // 16
    assert set(slow) <= set(quick), "the one with more windows a step has more passes"
    assert rungs.of(config(passes=2)) == [rung for rung in rungs.of(config(passes=12)) if rung < 2 * 563]


def test_the_first_rung_gives_the_largest_batch_its_steps() -> None:
    fixed = config(passes=12)
    assert plan(fixed, config(batch=64), windows=1600).of(fixed) == [100, 300, 900]
    assert plan(fixed, config(batch=128), windows=1600).of(fixed) == [300, 900]
    assert plan(config(passes=1), windows=700).of(config(passes=1)) == [], "too few to tell heads apart"


def test_rungs_inside_of_the_first_pass_want_more_steps_than_those_behind_it() -> None:
    fixed = config(passes=12)
    assert plan(fixed, windows=16 * FLOOR).of(fixed) == [FLOOR, 3 * FLOOR, 9 * FLOOR]
    assert plan(fixed, windows=16 * (3 * FLOOR_INSIDE - 3)).of(fixed)[0] == 3 * FLOOR_INSIDE - 3
    assert plan(fixed, windows=16 * 3 * FLOOR_INSIDE).of(fixed)[0] == FLOOR_INSIDE


def test_without_a_scheduler_there_are_none() -> None:
    rungs = plan(halving=False)
    assert rungs.batch is None
    assert rungs.of(config()) == []
    assert rungs.next_stop(0, config()) == rungs.course(config()).end


def test_rungs_beyond_a_pass_are_whole_passes() -> None:
    own = config(passes=40)
    rungs = plan(own, windows=320)
    assert rungs.of(own) == [60, 180, 540]
    assert {rung % 20 for rung in rungs.of(own)} == {0}
    assert all(later == REDUCTION * rung for rung, later in zip([60, 180], [180, 540], strict=True))


def test_rivals_have_rows_and_passes_in_common() -> None:
    rungs = plan()
    rivals = {
        rungs.rivals(config(**settings))
        for settings in (
            {},
            {"data_fraction": 0.5},
            {"passes": 2},
            {"passes": 3},
            {"passes": 2, "data_fraction": 0.5},
        )
    }
    assert len(rivals) == 5
    assert rungs.rivals(config(learning_rate=0.3, batch=64)) == rungs.rivals(config(patience=2, dropout=0.1))
