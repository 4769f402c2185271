"""Which heads train together, and where they stop to be compared."""

import pytest

from bv_search.scan.trial import TrialConfig
from bv_search.tune.packing import (
    FLOOR,
    FLOOR_INSIDE,
    REDUCTION,
    Order,
    Packer,
    Rungs,
    WaitingHead,
    plan_rungs,
)


def config(**settings: object) -> TrialConfig:
    return TrialConfig.from_json({"head": {"kind": "pooling"}, "passes": 1, **settings})


def waiting(trial: str, position: int = 0, **settings: object) -> WaitingHead:
    return WaitingHead(trial=trial, config=config(**settings), position=position)


@pytest.fixture
def rungs() -> Rungs:
    """9,000 windows are 563 micro-batches; rungs at a ninth and a third of a pass, and at whole ones."""
    return plan_rungs([config(passes=2), config()], 9000, halving=True, one_token=False)


@pytest.fixture
def in_memory() -> Rungs:
    return plan_rungs([config()], 9000, halving=True, one_token=True)


def names(*orders: Order) -> list[str]:
    return [trial for order in orders for trial in order.trials]


def test_a_full_pack_goes_before_those_that_are_further(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    for head in (waiting("a"), waiting("far", 63), waiting("b")):
        packer.park(head)

    (order,) = packer.next_round(1)

    assert names(order) == ["a", "b"]
    assert (order.stop, set(order.score)) == (63, {"a", "b"})
    assert len(packer) == 1


def test_else_the_furthest_go_first(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=8)
    for head in (waiting("far", 63), waiting("near"), waiting("far too", 63)):
        packer.park(head)

    assert [names(*packer.next_round(1)) for _ in range(3)] == [["far", "far too"], ["near"], []]


@pytest.mark.parametrize("order", ["abcd", "dbca"])
def test_who_goes_together_does_not_depend_on_who_came_first(rungs: Rungs, order: str) -> None:
    packer = Packer(rungs, pack=8)
    for trial in order:
        packer.park(waiting(trial, 63 if trial in "ab" else 0))
    assert [names(each) for each in packer.next_round(3)] == [["a"], ["b"], ["c", "d"]]


def test_a_round_gives_every_worker_a_share(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=64)
    for number in range(7):
        packer.park(waiting(str(number)))

    assert [len(order.heads) for order in packer.next_round(3)] == [3, 2, 2]
    assert packer.next_round(3) == []


def test_what_no_worker_is_left_for_waits_for_the_next_round(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    for number in range(7):
        packer.park(waiting(str(number)))
    assert [names(*packer.next_round(2)) for _ in range(3)] == [list("0123"), list("456"), []]


def test_survivors_of_several_packs_merge(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    for trial in "abcd":
        packer.park(waiting(trial))
    packer.next_round(2)
    packer.park(waiting("a", 63))
    packer.park(waiting("d", 63))

    assert names(*packer.next_round(1)) == ["a", "d"]


def test_heads_on_less_data_go_along_up_to_their_end(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    packer.park(waiting("little", data_fraction=0.1))
    packer.park(waiting("all"))

    (order,) = packer.next_round(1)

    assert (order.stop, set(order.score)) == (57, {"little"})


def test_after_the_first_pass_heads_share_only_with_their_own_kind(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    packer.park(waiting("small", 126, data_fraction=0.2, passes=2))
    packer.park(waiting("large", 126, passes=2))

    assert [names(order) for order in packer.next_round(2)] == [["small"], ["large"]]


def test_heads_of_any_passes_go_together_up_to_the_first_end_of_one(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=3)
    for passes in (1, 2, "auto"):
        packer.park(waiting(str(passes), 375, passes=passes))

    (order,) = packer.next_round(1)

    assert names(order) == ["1", "2", "auto"]
    assert (order.stop, set(order.score)) == (563, {"1", "2", "auto"}), "a rung of those that go on"


def test_where_a_step_takes_a_whole_batch_none_is_cut_by_a_neighbours_end(in_memory: Rungs) -> None:
    packer = Packer(in_memory, pack=2)
    packer.park(waiting("little", data_fraction=0.1))
    packer.park(waiting("fixed"))
    packer.park(waiting("open", passes="auto"))
    packer.park(waiting("open too", passes="auto", batch=128))
    order, *others = (packer.next_round(1)[0] for _ in range(3))

    assert [names(each) for each in others] == [["fixed"], ["little"]]
    assert names(order) == ["open", "open too"]
    assert in_memory.course(config(passes="auto")).is_border(order.stop)


def test_a_lost_order_is_taken_apart_until_one_head_is_left(rungs: Rungs) -> None:
    heads = tuple(waiting(trial) for trial in "abc")
    order = Order(heads=heads, stop=63, score=frozenset("abc"))

    first, second = order.apart()

    assert (names(first), names(second)) == (["a", "b"], ["c"])
    assert [names(half) for half in first.apart()] == [["a"], ["b"]]


def test_a_trial_that_was_ended_is_dropped(rungs: Rungs) -> None:
    packer = Packer(rungs, pack=2)
    packer.park(waiting("a"))
    packer.drop("a")
    packer.drop("never here")

    assert packer.next_round(1) == []


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


def head_of(**settings: object) -> TrialConfig:
    return TrialConfig.from_json({"head": {"kind": "pooling"}, **settings})


def plan(*configs: TrialConfig, windows: int = 9000, halving: bool = True, one_token: bool = False) -> Rungs:
    return plan_rungs(configs or [head_of()], windows, halving=halving, one_token=one_token)


def test_rungs_are_parts_of_a_pass_and_many_passes_each_three_times_as_far() -> None:
    """9,000 windows are 563 micro-batches, and a head that is checked on the way is it at thirds of them."""
    fixed = head_of(passes=12)
    assert plan(fixed).of(fixed) == [63, 188, 563, 1689, 5067]
    assert plan(fixed, one_token=True).of(fixed) == [563, 1689, 5067], "steps end at whole passes alone"
    assert plan().of(head_of()) == [63, 375, 563, 1689], "behind the first check, at checks"
    assert plan(one_token=True).of(head_of()) == [187, 375, 563, 1689]


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("one_token", [False, True])
def test_every_rung_lies_where_it_may(windows: int, settings: dict[str, object], one_token: bool) -> None:
    own = head_of(**settings)
    rungs = plan(own, windows=windows, one_token=one_token)
    course, found = rungs.course(own), rungs.of(own)

    assert found == sorted(set(found))
    assert all(FLOOR * own.training.batch // 16 <= rung < course.end for rung in found)
    first = 0 if one_token else course.next_border(0)
    assert all(course.is_border(rung) for rung in found if rung >= first)


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_head_stops_at_each_of_its_rungs_and_at_its_end(windows: int, settings: dict[str, object]) -> None:
    own = head_of(**settings)
    rungs = plan(own, windows=windows)
    stops, position, end = [], 0, rungs.course(own).end
    while position < end:
        position = rungs.next_stop(position, own)
        stops.append(position)
    assert stops == [*rungs.of(own), end]


def test_heads_that_differ_in_what_a_search_varies_stop_at_the_same_places() -> None:
    """Or they could not be compared."""
    both = head_of(batch=16, learning_rate=0.1), head_of(batch=128, learning_rate=0.01)
    rungs = plan(*both)
    slow, quick = (rungs.of(each) for each in both)
    assert quick[0] >= FLOOR * 128 // 16
    assert set(slow) <= set(quick), "the one with more windows a step has more passes"
    assert rungs.of(head_of(passes=2)) == [rung for rung in rungs.of(head_of(passes=12)) if rung < 2 * 563]


def test_the_first_rung_gives_the_largest_batch_its_steps() -> None:
    fixed = head_of(passes=12)
    assert plan(fixed, head_of(batch=64), windows=1600).of(fixed) == [100, 300, 900]
    assert plan(fixed, head_of(batch=128), windows=1600).of(fixed) == [300, 900]
    assert plan(head_of(passes=1), windows=700).of(head_of(passes=1)) == [], "too few to tell heads apart"


def test_rungs_inside_of_the_first_pass_want_more_steps_than_those_behind_it() -> None:
    fixed = head_of(passes=12)
    assert plan(fixed, windows=16 * FLOOR).of(fixed) == [FLOOR, 3 * FLOOR, 9 * FLOOR]
    assert plan(fixed, windows=16 * (3 * FLOOR_INSIDE - 3)).of(fixed)[0] == 3 * FLOOR_INSIDE - 3
    assert plan(fixed, windows=16 * 3 * FLOOR_INSIDE).of(fixed)[0] == FLOOR_INSIDE


def test_without_a_scheduler_there_are_none() -> None:
    rungs = plan(halving=False)
    assert rungs.batch is None
    assert rungs.of(head_of()) == []
    assert rungs.next_stop(0, head_of()) == rungs.course(head_of()).end


def test_rungs_beyond_a_pass_are_whole_passes() -> None:
    own = head_of(passes=40)
    rungs = plan(own, windows=320)
    assert rungs.of(own) == [60, 180, 540]
    assert {rung % 20 for rung in rungs.of(own)} == {0}
    assert all(later == REDUCTION * rung for rung, later in zip([60, 180], [180, 540], strict=True))


def test_rivals_have_rows_and_passes_in_common() -> None:
    rungs = plan()
    rivals = {
        rungs.rivals(head_of(**settings))
        for settings in (
            {},
            {"data_fraction": 0.5},
            {"passes": 2},
            {"passes": 3},
            {"passes": 2, "data_fraction": 0.5},
        )
    }
    assert len(rivals) == 5
    assert rungs.rivals(head_of(learning_rate=0.3, batch=64)) == rungs.rivals(
        head_of(patience=2, dropout=0.1)
    )
