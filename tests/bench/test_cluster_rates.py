"""How many machines a simulated cluster has, and what they cost."""

import pytest

from bv_search.bench.cluster_rates import ClusterRates, measure_head_rows
from bv_search.heads.config import AdapterHead, HeadShape

RATES = ClusterRates(
    head_rows=1000.0,
    disk=1e9,
    network=1e9,
    object_store=1e9,
    driver_seconds=0.01,
    workers_each=4,
    cache=1e9,
    price=2.0,
    head_price=0.5,
)


@pytest.mark.parametrize(("workers", "machines"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_machines_are_as_many_as_the_workers_need(workers: int, machines: int) -> None:
    assert RATES.machines(workers) == machines


def test_an_hour_costs_all_machines_and_the_one_that_drives() -> None:
    assert RATES.cost(5, 3600.0) == pytest.approx(2 * 2.0 + 0.5)
    assert RATES.cost(5, 1800.0) == pytest.approx(RATES.cost(5, 3600.0) / 2)


def test_larger_heads_read_fewer_rows_a_second() -> None:
    shape = HeadShape(layers=4, width=64, outputs=2, per_token=True, tokens=32)
    small, large = (measure_head_rows([AdapterHead(size=size)], shape, 32) for size in (2, 512))
    assert small > large > 0
