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


def names(order: Order | None) -> list[str]:
    return [] if order is None else [head.trial for head in order.heads]


def test_a_pack_goes_when_it_is_full(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("a"))
    assert pool.next_full() is None
    pool.park(waiting("b"))

    order = pool.next_full()

    assert names(order) == ["a", "b"]
    assert order is not None
    assert (order.stop, set(order.score)) == (63, {"a", "b"})
    assert len(pool) == 0


def test_what_waits_goes_once_no_more_can_come_the_furthest_first(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=8)
    for head in (waiting("far", 63), waiting("near"), waiting("far too", 63)):
        pool.park(head)

    assert names(pool.next_share(1)) == ["far", "far too"]
    assert names(pool.next_share(1)) == ["near"]
    assert pool.next_share(1) is None


def test_what_waits_is_shared_by_the_workers_that_are_idle(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=64)
    for number in range(7):
        pool.park(waiting(str(number)))

    assert [len(names(pool.next_share(idle))) for idle in (3, 2, 1)] == [3, 2, 2]
    assert pool.next_share(1) is None


def test_survivors_of_several_packs_merge(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    for trial in "abcd":
        pool.park(waiting(trial))
    for _ in range(2):
        pool.next_full()

    pool.park(waiting("a", 63))
    pool.park(waiting("d", 63))

    assert names(pool.next_full()) == ["a", "d"]


def test_heads_on_less_data_go_along_up_to_their_end(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("little", data_fraction=0.1))
    pool.park(waiting("all"))

    order = pool.next_full()

    assert order is not None
    assert (order.stop, set(order.score)) == (57, {"little"})


def test_after_the_first_pass_heads_share_only_with_their_own_kind(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=2)
    pool.park(waiting("small", 126, data_fraction=0.2, passes=2))
    pool.park(waiting("large", 126, passes=2))

    assert pool.next_full() is None


def test_heads_of_any_passes_go_together_up_to_the_first_end_of_one(rungs: Rungs) -> None:
    pool = Pool(rungs, pack=3)
    for passes in (1, 2, "auto"):
        pool.park(waiting(str(passes), 375, passes=passes))

    order = pool.next_full()

    assert names(order) == ["1", "2", "auto"]
    assert order is not None
    assert (order.stop, set(order.score)) == (563, {"1", "2", "auto"}), "a rung of those that go on"


def test_where_a_step_takes_a_whole_batch_none_is_cut_by_a_neighbours_end(in_memory: Rungs) -> None:
    pool = Pool(in_memory, pack=2)
    pool.park(waiting("little", data_fraction=0.1))
    pool.park(waiting("fixed"))
    pool.park(waiting("open", passes="auto"))
    assert pool.next_full() is None

    pool.park(waiting("open too", passes="auto", batch=128))
    order = pool.next_full()

    assert names(order) == ["open", "open too"]
    assert order is not None
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

    assert pool.next_share(1) is None
