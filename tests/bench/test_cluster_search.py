"""A simulated search takes the time that a real one takes."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bv_search.bench.cluster_rates import ClusterRates
from bv_search.bench.cluster_search import Simulated, simulate, stops_to_scale
from bv_search.bench.cluster_work import ClusterWork
from bv_search.bench.cluster_workers import (
    DISK,
    DRIVER,
    DRIVER_NETWORK,
    IDLE,
    LEARNING,
    NETWORK,
    STORE,
    STRAGGLERS,
)
from bv_search.command import Progress

FAST = 1e18


WORK = ClusterWork(about="a test", windows=16_000, select=160, report=160, tokens=100, layers=10, width=100)


RATES = ClusterRates(
    head_rows=1000.0,
    disk=FAST,
    network=FAST,
    object_store=FAST,
    driver_seconds=1e-9,
    workers_each=1,
    cache=FAST,
    price=2.0,
    head_price=1.0,
)


def run(rates: ClusterRates, *, workers: int = 1, trials: int = 16, pack: int = 8) -> Simulated:
    return simulate(WORK, rates, workers=workers, trials=trials, pack=pack)


def test_where_nothing_else_is_slow_the_time_is_that_of_learning() -> None:
    one = run(RATES)
    assert one.bound == LEARNING
    assert one.shares[LEARNING] == pytest.approx(1.0, abs=0.01)
    course = WORK.rungs.course(WORK.configs[0])
    whole = 16 * course.passes * WORK.windows / RATES.head_rows
    assert 0.1 * whole < one.seconds < whole, "halving ends most heads on their way"
    assert one.cost == pytest.approx(3.0 * one.seconds / 3600)


def test_twice_as_fast_workers_take_half_the_time() -> None:
    assert run(replace(RATES, head_rows=2000.0)).seconds == pytest.approx(run(RATES).seconds / 2)


@pytest.mark.parametrize(
    ("slow", "bound"),
    [
        ({"disk": WORK.row_bytes, "cache": 2.0 * WORK.bytes}, DISK),
        ({"network": 10.0 * WORK.row_bytes, "cache": 0.0, "head_rows": FAST}, NETWORK),
        ({"object_store": WORK.row_bytes, "cache": 0.0}, STORE),
        ({"driver_seconds": 1e3}, DRIVER),
    ],
)
def test_what_is_slow_is_what_binds(slow: dict[str, Any], bound: str) -> None:
    found = run(replace(RATES, **slow), workers=2)
    assert found.bound == bound, found.shares


def test_states_and_answers_go_through_the_machine_that_drives() -> None:
    found = simulate(
        replace(WORK, select=16_000, report=16_000, windows=1600, layers=1, width=8),
        replace(RATES, head_rows=FAST, network=1e6, cache=FAST),
        workers=4,
        trials=32,
        pack=8,
    )
    assert found.shares[DRIVER_NETWORK] > 0.4


def test_workers_without_heads_wait() -> None:
    found = run(RATES, workers=8, trials=4)
    assert found.shares[IDLE] >= 0.5
    assert STRAGGLERS not in found.shares or found.shares[STRAGGLERS] < 0.5


def test_workers_of_one_machine_read_one_copy() -> None:
    slow = replace(RATES, network=float(WORK.row_bytes) * 100, head_rows=FAST)
    apart, together = run(slow, workers=4), run(replace(slow, workers_each=4), workers=4)
    without = run(replace(slow, workers_each=4, cache=0.0), workers=4)
    assert together.seconds <= apart.seconds * 1.01
    assert without.seconds > 2 * together.seconds


def test_scaling_stops_where_the_next_size_gains_little() -> None:
    def taken(workers: int, seconds: float) -> Simulated:
        return Simulated(workers=workers, machines=workers, seconds=seconds, cost=1.0, shares={LEARNING: 1.0})

    found = [taken(1, 100.0), taken(2, 90.0), taken(4, 50.0), taken(8, 45.0), taken(16, 60.0)]
    assert stops_to_scale(found) == (found[2], found[3])
    assert stops_to_scale(found[:3]) is None


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Three machines with workers, beside the one that drives."""
    from ray.cluster_utils import Cluster

    for name, value in {"RAY_AUTH_MODE": "disabled", "RAY_BACKEND_LOG_LEVEL": "fatal"}.items():
        monkeypatch.setenv(name, value)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(3):
        cluster.add_node(num_cpus=4)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield cluster.address
    cluster.shutdown()


@pytest.mark.slow
def test_real_searches_on_three_machines_take_what_was_simulated(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bv_search.bench.driver import small_store
    from bv_search.tune import search as search_module
    from bv_search.tune.config import TuneConfig
    from bv_search.tune.ray import workers as workers_module
    from tests.bench import paced

    monkeypatch.setattr(workers_module, "ScanWorker", paced.PacedWorker)
    monkeypatch.setattr(search_module, "_register", lambda *_: None)  # made-up heads answer nothing
    store = small_store(tmp_path / "store")
    split = {role: sum(each.windows for each in store.splits(role)) for role in ("train", "select", "report")}
    work = replace(paced.WORK, windows=split["train"], select=split["select"], report=split["report"])
    rates = replace(RATES, head_rows=paced.HEAD_ROWS, driver_seconds=0.02)
    for workers in (1, 3, 6):
        config = TuneConfig(
            space="classification",
            store=str(store.path),
            searcher="random",
            trials=48,
            generation=8 * workers,
            folds=1,
            finalists=0,
            pack="8",
            workers=workers,
            precision="float32",
            runs=tmp_path / f"runs-{workers}",
        )
        seconds = search_module.run(config, Progress(quiet=True)).seconds()
        real = seconds["total"] - seconds["start"] - seconds["register"]
        simulated = simulate(work, rates, workers=workers, trials=48, pack=8)
        said = f"{workers} workers: {real:.1f} s, simulated {simulated.seconds:.1f} s"
        sys.stderr.write(said + "\n")
        assert simulated.seconds == pytest.approx(real, rel=0.3), said
