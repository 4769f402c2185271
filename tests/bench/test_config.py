import pytest

from bv_search.bench.config import BENCHMARKS, ROUNDS, TRIALS, BenchConfig
from bv_search.errors import UserError


@pytest.mark.parametrize("benchmark", sorted(BENCHMARKS))
def test_what_was_not_asked_for_is_what_a_benchmark_takes(benchmark: str) -> None:
    asked = BenchConfig(benchmark=benchmark).filled_in()
    assert asked.rounds == (1 if benchmark == "probe" else ROUNDS)
    assert asked.trials == TRIALS.get(benchmark, 0)


def test_what_was_asked_for_stays() -> None:
    asked = BenchConfig(benchmark="probe", rounds=7, trials=9).filled_in()
    assert (asked.rounds, asked.trials) == (7, 9)


@pytest.mark.parametrize("needed", ["store", "encoder"])
def test_what_a_benchmark_needs_is_named(needed: str) -> None:
    with pytest.raises(UserError, match=f"bench scan needs an? {needed}.*--{needed}"):
        getattr(BenchConfig(benchmark="scan"), f"required_{needed}")
