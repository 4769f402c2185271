"""TPE draws at random until it was told enough, and then where good points were."""

from bv_search.space.space import parse_space
from bv_search.tune.searchers.hyperopt import HyperOpt
from bv_search.tune.searchers.random import Random

SPACE = parse_space(
    {"space": {"head": {"kind": "pooling"}, "learning_rate": {"loguniform": [1e-5, 1.0]}}}, "rates"
)
FEW = HyperOpt.startup_points


def taught(points: int) -> HyperOpt:
    """A rate is the better the nearer it is to 1."""
    searcher, source = HyperOpt(SPACE, 0), Random(SPACE, 1)
    for number in range(1, points + 1):
        draws = source.ask(f"{number:04d}") or {}
        searcher.adopt(f"{number:04d}", draws)
        searcher.tell(f"{number:04d}", float(draws["learning_rate"]))
    return searcher


def test_it_draws_at_random_until_it_was_told_enough() -> None:
    for points, is_random in ((FEW - 1, True), (FEW, False)):
        assert (taught(points).ask("0100") == Random(SPACE, 0).ask("0100")) is is_random


def test_it_then_draws_where_good_points_were() -> None:
    searcher = taught(40)
    rates = [float((searcher.ask(str(number)) or {})["learning_rate"]) for number in range(100, 108)]
    assert sum(rate > 0.01 for rate in rates) >= 6, rates


def test_points_that_failed_teach_nothing() -> None:
    searcher, failing = taught(40), taught(40)
    for number in range(41, 60):
        failing.adopt(f"{number:04d}", {"learning_rate": 1e-5})
        failing.tell(f"{number:04d}", None)
    assert failing.told == searcher.told
    assert failing.ask("0100") == searcher.ask("0100")


def test_of_many_whole_numbers_it_keeps_no_probability_each() -> None:
    """Seeds from two thousand millions took 16 GB."""
    many = {"head": {"kind": "pooling"}, "seed": {"randint": [0, 2**31 - 1]}}
    searcher = HyperOpt(parse_space({"space": many}, "seeds"), 0)
    for number in range(FEW + 1):
        searcher.adopt(f"{number:04d}", {"seed": number * 10**8})
        searcher.tell(f"{number:04d}", number / 10)
    seeds = [(searcher.ask(str(number)) or {})["seed"] for number in range(100, 104)]
    assert all(type(seed) is int and 0 <= seed < 2**31 - 1 for seed in seeds)
    assert len(set(seeds)) == 4
