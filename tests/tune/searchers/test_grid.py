"""Every point of a finite space, once, in the order of its file."""

from bv_search.space.space import parse_space
from bv_search.tune.searchers.grid import Grid

SPACE = parse_space(
    {
        "space": {
            "head": {"kind": "linear", "channels": {"grid": [2, 0, 1]}},
            "learning_rate": {"grid": [0.01, 0.001]},
        }
    },
    "few",
)


def asked(grid: Grid) -> list[tuple[int, float]]:
    found = [grid.ask(f"{number:04d}") for number in range(1, len(grid) + 1)]
    configs = [SPACE.config(draws) for draws in found if draws is not None]
    return [(config["head"]["channels"], config["learning_rate"]) for config in configs]


def test_points_come_in_the_order_of_the_file_and_then_no_more() -> None:
    grid = Grid(SPACE, 0)
    assert asked(grid) == [(2, 0.01), (2, 0.001), (0, 0.01), (0, 0.001), (1, 0.01), (1, 0.001)]
    assert grid.ask("0007") is None


def test_what_does_not_fit_has_no_cell() -> None:
    grid = Grid(SPACE, 0, lambda draws: bool(SPACE.config(draws)["head"]["channels"] > 0))
    assert [channel for channel, _ in asked(grid)] == [2, 2, 1, 1]


def test_a_resumed_grid_goes_on_behind_what_was_begun() -> None:
    grid, resumed = Grid(SPACE, 0), Grid(SPACE, 0)
    for trial in ("0001", "0002"):
        draws = grid.ask(trial)
        assert draws is not None
        resumed.adopt(trial, draws)
    assert resumed.ask("0003") == grid.ask("0003")


def test_a_large_grid_is_asked_in_a_moment() -> None:
    rates = {"grid": [1e-6 * n for n in range(1, 3001)]}
    grid = Grid(parse_space({"space": {"head": {"kind": "pooling"}, "learning_rate": rates}}, "many"), 0)
    assert all(grid.ask(f"{number}") is not None for number in range(1, 3001))
    assert grid.ask("3001") is None
