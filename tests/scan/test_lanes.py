"""Lanes: every head is in one of them, they cost about the same, and they change no result."""

import threading
from collections.abc import Iterator

import pytest
import torch

from bv_search.heads.config import (
    AdapterHead,
    CnnHead,
    ConstantHead,
    HeadConfig,
    HeadShape,
    LinearHead,
    MlpHead,
    PooledAdapterHead,
    PoolingHead,
)
from bv_search.heads.head import Head
from bv_search.scan.lanes import BRANCH, Lanes, share_out

SHAPE = HeadShape(layers=3, width=12, outputs=2, per_token=True)
CPU = torch.device("cpu")


def heads(*configs: HeadConfig) -> list[Head]:
    return [Head(config, SHAPE).initialise(n) for n, config in enumerate(configs)]


@pytest.fixture
def two_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    "sizes", [[1], [1, 1], [1, 1, 200, 1, 1], [200, 1, 1, 1], [1, 1, 1, 200], [8] * 9, [1, 2, 4, 8, 16, 32]]
)
def test_every_head_has_a_lane_and_no_lane_is_empty(sizes: list[int], lanes: int) -> None:
    groups = share_out(heads(*(AdapterHead(size=size) for size in sizes)), lanes)
    assert sorted(k for group in groups for k in group) == list(range(len(sizes)))
    assert len(groups) == min(lanes, len(sizes))
    assert all(groups)


def test_lanes_cost_about_the_same_and_keep_kinds_together() -> None:
    configs = [
        AdapterHead(size=8),
        PoolingHead(),
        AdapterHead(size=4, shared=False),
        PooledAdapterHead(size=6),
    ]
    mixed = heads(*(configs * 8))
    groups = share_out(mixed, 2)
    costs = [sum(mixed[k].typed_branches()[0].work() + BRANCH for k in group) for group in groups]
    assert max(costs) < 1.2 * min(costs)
    kinds = [{type(mixed[k].config) for k in group} | {mixed[k].config for k in group} for group in groups]
    assert len(kinds[0] & kinds[1]) <= 3, "at most one kind stands in both"


def test_heads_that_read_first_tokens_cost_less_than_those_that_read_all() -> None:
    shape = HeadShape(layers=3, width=1200, outputs=2, per_token=False, tokens=500)
    means = [Head(AdapterHead(size=8, readout="mean"), shape) for _ in range(2)]
    firsts = [Head(AdapterHead(size=8), shape) for _ in range(20)]

    groups = share_out([*means, *firsts], 2)

    assert all(len({0, 1} & set(group)) == 1 for group in groups)


def test_weights_that_every_layer_goes_through_cost_as_often() -> None:
    """Of wide heads: of narrow ones, what any branch takes is most."""
    shape = HeadShape(layers=3, width=1200, outputs=2, per_token=True)
    configs = [MlpHead(size=400), *[AdapterHead(size=100)] * 4]
    groups = share_out([Head(config, shape) for config in configs], 2)
    assert groups == [[1, 2, 3, 4], [0]]


def test_heads_that_cost_nothing_have_lanes_too() -> None:
    assert share_out(heads(ConstantHead(), ConstantHead(), ConstantHead()), 2) == [[0], [1, 2]]


def test_heads_that_share_a_product_stand_together() -> None:
    configs = [LinearHead(), AdapterHead(size=4), PoolingHead(), AdapterHead(size=4), MlpHead(size=4)]
    (together,) = share_out(heads(*configs), 1)
    assert together == [1, 3, 0, 2, 4]


def test_each_lane_has_a_thread_with_cores_of_its_own(two_threads: None) -> None:
    meeting = threading.Barrier(2)

    def meet(_: int) -> int:
        meeting.wait(timeout=30)  # only two that run at once get past it
        return torch.get_num_threads()

    with Lanes(heads(*[AdapterHead(size=4)] * 4), CPU) as lanes:
        assert lanes.run(meet, range(2)) == [1, 1]
    assert torch.get_num_threads() == 2, "what runs alone has all cores"


def test_heads_that_take_turns_do_it_one_by_one_on_all_cores(two_threads: None) -> None:
    configs = [CnnHead(channels=4), AdapterHead(size=4), CnnHead(channels=6), AdapterHead(size=8)]
    with Lanes(heads(*configs), CPU) as lanes:
        assert lanes.groups == [[1], [3], [0], [2]]
        assert lanes.run(lambda _: torch.get_num_threads(), lanes.groups) == [1, 1, 2, 2]


def test_what_goes_wrong_in_a_lane_is_raised(two_threads: None) -> None:
    with Lanes(heads(PoolingHead(), PoolingHead()), CPU) as lanes, pytest.raises(ZeroDivisionError):
        lanes.run(lambda n: 1 // n, [1, 0])


def test_one_head_or_a_gpu_has_one_lane(two_threads: None) -> None:
    assert Lanes(heads(PoolingHead()), CPU).groups == [[0]]
    assert Lanes(heads(PoolingHead(), PoolingHead()), torch.device("cuda")).groups == [[0, 1]]
