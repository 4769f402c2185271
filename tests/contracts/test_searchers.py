"""What every searcher promises, over every shipped space that it can search."""

import math
from collections.abc import Callable, Iterator

import pytest
import xxhash

from bv_search.errors import SpaceError
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Draws, Space, find_space, parse_space, shipped_spaces
from bv_search.tune.searchers import SEARCHERS, Searcher

PAIRS = [
    pytest.param(name, space, id=f"{name}-{space}")
    for space in shipped_spaces()
    for name in SEARCHERS
    if name != "grid" or find_space(space).is_finite()
]
LEARNING = [name for name, searcher in SEARCHERS.items() if searcher.startup_points is not None]
each_pair = pytest.mark.parametrize(("name", "space"), PAIRS)

NESTED = parse_space(
    {
        "space": {
            "head": {
                "choice": [
                    {"kind": "pooling", "pooling": {"choice": ["learned", "average"]}},
                    {"kind": "adapter", "size": {"quniform": [16, 64, 16]}},
                ]
            },
            "learning_rate": {"loguniform": [1.0e-4, 1.0e-1]},
            "weight_decay": {"uniform": [0.0, 0.1]},
            "seed": {"randint": [0, 10]},
        }
    },
    "nested",
)


def asked(searcher: Searcher, count: int, begin: int = 0) -> Iterator[tuple[str, Draws]]:
    for number in range(begin, begin + count):
        draws = searcher.ask(str(number))
        if draws is None:
            return
        yield str(number), draws


@each_pair
def test_its_points_are_configs_of_the_space(name: str, space: str) -> None:
    searcher = SEARCHERS[name](find_space(space), 0)

    for trial, draws in asked(searcher, 14):
        config = searcher.space.config(draws)
        TrialConfig.from_json(config)
        assert searcher.space.draws(config) == draws
        searcher.tell(trial, float(trial) / 14)


@pytest.mark.parametrize("name", [name for name in SEARCHERS if name != "grid"])
def test_numbers_keep_their_types_and_bounds(name: str) -> None:
    searcher = SEARCHERS[name](NESTED, 1)

    configs = [NESTED.config(draws) for _, draws in asked(searcher, 40)]

    sizes = {config["head"]["size"] for config in configs if config["head"]["kind"] == "adapter"}
    assert sizes <= {16, 32, 48, 64}
    assert all(type(size) is int for size in sizes)
    assert all(type(config["seed"]) is int and 0 <= config["seed"] < 10 for config in configs)
    assert all(1e-4 <= config["learning_rate"] <= 1e-1 for config in configs)
    assert {config["head"]["kind"] for config in configs} == {"pooling", "adapter"}


@pytest.mark.parametrize("name", SEARCHERS)
def test_the_seed_decides_the_points(name: str) -> None:
    space = find_space("paper-span") if name == "grid" else NESTED

    def points(seed: int) -> list[Draws]:
        return [draws for _, draws in asked(SEARCHERS[name](space, seed), 15)]

    assert points(1) == points(1)
    assert name == "grid" or points(1) != points(2)


@pytest.mark.parametrize("name", SEARCHERS)
def test_a_whole_pack_may_be_asked_for_before_any_is_told_and_some_may_fail(name: str) -> None:
    space = find_space("paper-span") if name == "grid" else NESTED
    searcher = SEARCHERS[name](space, 0)

    pack = list(asked(searcher, 8))
    for number, (trial, _) in enumerate(pack):
        searcher.tell(trial, None if number % 3 == 0 else number / 8)

    assert len(list(asked(searcher, 2, begin=100))) == 2


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns_where_the_good_points_are_from_points_that_others_chose(name: str) -> None:
    """Told of adopted points only, as a resumed search is, it turns to the better kind of head."""
    searcher = SEARCHERS[name](NESTED, 0)
    source = SEARCHERS["random"](NESTED, 5)
    for trial, draws in asked(source, 40):
        searcher.adopt(trial, draws)
        searcher.tell(trial, 1.0 if draws["head"] == 1 else 0.0)

    kinds = []
    for trial, draws in asked(searcher, 20, begin=100):
        kinds.append(draws["head"])
        searcher.tell(trial, 1.0 if draws["head"] == 1 else 0.0)

    assert sum(kinds) >= 15


def score(draws: Draws) -> float:
    """Best away from everything that comes first."""
    config = NESTED.config(draws)
    head = config["head"]
    kind = 0.0 if head["kind"] == "adapter" else 1.0
    return float(-kind - abs(head.get("size", 16) - 48) / 48 - abs(math.log10(config["learning_rate"]) + 2.0))


@pytest.mark.parametrize("name", SEARCHERS)
@pytest.mark.parametrize("generation", [1, 6])
def test_an_interrupted_search_proposes_what_an_unbroken_one_does(name: str, generation: int) -> None:
    """However often it was interrupted, and in whatever order it is told again."""
    space = find_space("data-fraction") if name == "grid" else NESTED
    told: dict[str, tuple[Draws, float | None]] = {}
    whole, broken = SEARCHERS[name](space, 3), SEARCHERS[name](space, 3)
    for begin in range(0, 24, generation):
        numbers = [str(number) for number in range(begin, begin + generation)]
        points = [whole.ask(number) for number in numbers]
        assert [broken.ask(number) for number in numbers] == points
        for number, draws in zip(numbers, points, strict=True):
            assert draws is not None
            found = None if int(number) % 5 == 4 else (score(draws) if name != "grid" else 0.0)
            told[number] = draws, found
            whole.tell(number, found)
        broken = SEARCHERS[name](space, 3)
        for number in sorted(told, key=hash_of):
            broken.adopt(number, told[number][0])
            broken.tell(number, told[number][1])


@pytest.mark.parametrize("name", ["optuna", "optuna-gp"])
def test_of_two_objectives_both_are_looked_for(name: str) -> None:
    """Good rates and small heads: here one point can be both."""

    def fault(draws: Draws) -> float:
        return abs(math.log10(draws["learning_rate"]) + 2)

    def size(draws: Draws) -> int:
        return 1 + int(draws["seed"])

    def mean(of: Callable[[Draws], float], points: list[Draws]) -> float:
        return sum(map(of, points)) / len(points)

    source = [draws for _, draws in asked(SEARCHERS["random"](NESTED, 5), 40)]
    searcher = SEARCHERS[name](NESTED, 1, size=size)
    searcher.remember([(draws, -fault(draws)) for draws in source])
    drawn = [draws for _, draws in asked(searcher, 12 if name == "optuna" else 3, begin=1)]
    assert mean(size, drawn) < 0.7 * mean(size, source)
    assert mean(fault, drawn) < 0.7 * mean(fault, source)


@pytest.mark.parametrize("name", SEARCHERS)
def test_what_does_not_fit_is_never_proposed(name: str) -> None:
    """It is drawn again, by the seed and the trial's number as ever; a grid passes over it."""
    space = find_space("data-fraction") if name == "grid" else NESTED
    path, limit = ("data_fraction", 0.5) if name == "grid" else ("learning_rate", 1.0e-3)

    def fits(draws: Draws) -> bool:
        return bool(space.config(draws)[path] <= limit)

    def points(numbers: range) -> list[Draws]:
        """The good ones are those that do not fit."""
        searcher, found = SEARCHERS[name](space, 4, fits), []
        for number in numbers:
            draws = searcher.ask(str(number))
            assert draws is not None
            found.append(draws)
            searcher.tell(str(number), space.config(draws)[path])
        assert searcher.refused > 0 or name == "grid"
        return found

    whole = points(range(11))
    assert all(map(fits, whole))
    assert whole == points(range(11))
    if name == "grid":
        assert len(list(asked(SEARCHERS[name](space, 4, fits), 100))) == sum(map(fits, space.points())) < 30
    else:
        assert len({draws["learning_rate"] for draws in whole}) == 11


def hash_of(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


@pytest.mark.parametrize("name", LEARNING)
def test_what_other_searches_found_is_as_good_as_told(name: str) -> None:
    """It shortens the time of chance; the search goes on from there, and not over the same ground."""
    source = [draws for _, draws in asked(SEARCHERS["random"](NESTED, 5), 40)]
    known = [(draws, 1.0 if draws["head"] == 1 else 0.0) for draws in source]

    def warm(count: int) -> Searcher:
        searcher = SEARCHERS[name](NESTED, 0)
        searcher.remember(known[:count])
        assert list(searcher.told.values()) == known[:count]
        assert not searcher.pending
        return searcher

    first = list(asked(warm(40), 6, begin=1))
    assert first == list(asked(warm(40), 6, begin=1))
    assert sum(int(draws["head"]) for _, draws in first) >= 5, "it has learned"
    cold = list(asked(SEARCHERS[name](NESTED, 0), 6, begin=1))
    assert not any(point in cold for point in asked(warm(9), 6, begin=1))


@pytest.mark.parametrize("name", LEARNING)
def test_trials_that_were_not_told_count_for_nothing(name: str) -> None:
    """HyperOpt took them for infinitely bad, and crowded around the first point that it was given."""
    silent, random = SEARCHERS[name](NESTED, 2), SEARCHERS["random"](NESTED, 2)
    silent.adopt("0", next(iter(dict(asked(SEARCHERS["random"](NESTED, 9), 1)).values())))
    assert list(asked(silent, 60, begin=1)) == list(asked(random, 60, begin=1))


@pytest.mark.parametrize("name", LEARNING)
def test_it_finds_more_than_chance_does(name: str) -> None:
    def best(kind: str, seed: int) -> float:
        searcher, scores = SEARCHERS[kind](NESTED, seed), []
        for begin in range(0, 32, 4):
            generation = list(asked(searcher, 4, begin=begin))
            for trial, draws in generation:
                searcher.tell(trial, score(draws))
                scores.append(score(draws))
        return max(scores)

    seeds = range(6)
    assert sum(best(name, seed) for seed in seeds) > sum(best("random", seed) for seed in seeds)


def test_grid_has_every_point_once_and_ends() -> None:
    space = find_space("data-fraction")
    searcher = SEARCHERS["grid"](space, 0)
    searcher.adopt("1", next(space.points()))

    points = [tuple(draws.items()) for _, draws in asked(searcher, 100, begin=2)]

    assert len(points) == len(set(points)) == 29
    assert searcher.ask("500") is None


def test_grid_refuses_what_has_no_end() -> None:
    with pytest.raises(SpaceError, match="has no end of values"):
        SEARCHERS["grid"](NESTED, 0)


def test_every_shipped_space_says_what_it_is() -> None:
    spaces: list[Space] = [find_space(name) for name in shipped_spaces()]
    assert all(space.about for space in spaces)
    assert {"adapters", "pooling", "paper-span", "paper-classification"} <= set(shipped_spaces())
