"""The pool decides which heads go together."""

import pytest

from bv_search.scan.trial import TrialConfig
from bv_search.tune.pool import Order, Pool, Waiting
from bv_search.tune.rungs import Rungs, plan_rungs


def config(**settings: object) -> TrialConfig:
    return TrialConfig.from_json({"head": {"kind": "pooling"}, "passes": 1, **settings})


def waiting(trial: str, position: int = 0, **settings: object) -> Waiting:
    return Waiting(trial=trial, config=config(**settings), position=position)


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
    pool = Pool(rungs, pack=2)
    for head in (waiting("a"), waiting("far", 63), waiting("b")):
        pool.park(head)

    (order,) = pool.next_round(1)

    assert names(order) == ["a", "b"]
    assert (order.stop, set(order.score)) == (63, {"a", "b"})
    assert len(pool) == 1


def test_else_the_furthest_go_first(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=8)
    for head in (waiting("far", 63), waiting("near"), waiting("far too", 63)):
        pool.park(head)

    assert [names(*pool.next_round(1)) for _ in range(3)] == [["far", "far too"], ["near"], []]


@pytest.mark.parametrize("order", ["abcd", "dbca"])
def test_who_goes_together_does_not_depend_on_who_came_first(rungs: Rungs, order: str) -> None:
    pool = Pool(rungs, pack=8)
    for trial in order:
        pool.park(waiting(trial, 63 if trial in "ab" else 0))
    assert [names(each) for each in pool.next_round(3)] == [["a"], ["b"], ["c", "d"]]


def test_a_round_gives_every_worker_a_share(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=64)
    for number in range(7):
        pool.park(waiting(str(number)))

    assert [len(order.heads) for order in pool.next_round(3)] == [3, 2, 2]
    assert pool.next_round(3) == []


def test_what_no_worker_is_left_for_waits_for_the_next_round(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    for number in range(7):
        pool.park(waiting(str(number)))
    assert [names(*pool.next_round(2)) for _ in range(3)] == [list("0123"), list("456"), []]


def test_survivors_of_several_packs_merge(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    for trial in "abcd":
        pool.park(waiting(trial))
    pool.next_round(2)
    pool.park(waiting("a", 63))
    pool.park(waiting("d", 63))

    assert names(*pool.next_round(1)) == ["a", "d"]


def test_heads_on_less_data_go_along_up_to_their_end(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("little", data_fraction=0.1))
    pool.park(waiting("all"))

    (order,) = pool.next_round(1)

    assert (order.stop, set(order.score)) == (57, {"little"})


def test_after_the_first_pass_heads_share_only_with_their_own_kind(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("small", 126, data_fraction=0.2, passes=2))
    pool.park(waiting("large", 126, passes=2))

    assert [names(order) for order in pool.next_round(2)] == [["small"], ["large"]]


def test_heads_of_any_passes_go_together_up_to_the_first_end_of_one(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=3)
    for passes in (1, 2, "auto"):
        pool.park(waiting(str(passes), 375, passes=passes))

    (order,) = pool.next_round(1)

    assert names(order) == ["1", "2", "auto"]
    assert (order.stop, set(order.score)) == (563, {"1", "2", "auto"}), "a rung of those that go on"


def test_where_a_step_takes_a_whole_batch_none_is_cut_by_a_neighbours_end(in_memory: Rungs) -> None:
    pool = Pool(in_memory, pack=2)
    pool.park(waiting("little", data_fraction=0.1))
    pool.park(waiting("fixed"))
    pool.park(waiting("open", passes="auto"))
    pool.park(waiting("open too", passes="auto", batch=128))
    order, *others = (pool.next_round(1)[0] for _ in range(3))

    assert [names(each) for each in others] == [["fixed"], ["little"]]
    assert names(order) == ["open", "open too"]
    assert in_memory.course(config(passes="auto")).is_border(order.stop)


def test_a_lost_order_is_taken_apart_until_one_head_is_left(rungs: Rungs) -> None:
    heads = tuple(waiting(trial) for trial in "abc")
    order = Order(heads=heads, stop=63, score=frozenset("abc"))

    first, second = order.halves()

    assert (names(first), names(second)) == (["a", "b"], ["c"])
    assert [names(half) for half in first.halves()] == [["a"], ["b"]]


def test_a_trial_that_was_ended_is_dropped(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("a"))
    pool.drop("a")
    pool.drop("never here")

    assert pool.next_round(1) == []
