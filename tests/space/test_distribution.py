"""What searchers draw is clean, and is known again."""

import json
import warnings

import pytest

from bv_search.space.distribution import LogUniform, QUniform, RandInt, Uniform
from bv_search.space.space import parse_space
from bv_search.tune.searchers import SEARCHERS

TENTHS = QUniform(0, 0.3, 0.1)


@pytest.mark.parametrize(
    ("distribution", "drawn", "exact"),
    [
        (TENTHS, 0.1 * 3, 0.3),
        (TENTHS, 0.34, 0.3),
        (TENTHS, -0.01, 0.0),
        (QUniform(0.0, 2e-5, 1e-5), 1.2e-5, 1e-5),
        (QUniform(16, 64, 16), 47.0, 48),
        (QUniform(0, 1e300, 1e-300), 1e299, 1e299),
        (QUniform(16.0, 64.0, 16.0), 70.0, 64),
        (Uniform(1, 5), 1, 1.0),
        (Uniform(0.1, 0.3), 0.1 * 3, 0.3),
        (LogUniform(1e-4, 1e-2), 9.999999999999999e-05, 1e-4),
        (RandInt(0, 5), 3.0, 3),
    ],
)
def test_a_draw_is_clean_and_held(distribution: Uniform | RandInt, drawn: float, exact: float) -> None:
    found = distribution.exact(drawn)

    assert (found, type(found)) == (exact, type(exact))
    assert distribution.holds(found)
    assert distribution.holds(json.loads(json.dumps(found)))


def test_what_lies_past_a_bound_is_not_held() -> None:
    assert not TENTHS.holds(0.301)
    assert not Uniform(0.1, 0.3).holds(0.0999)
    assert not Uniform(0, 1).holds(True)


@pytest.mark.parametrize("searcher", ["hyperopt", "optuna", "random"])
@pytest.mark.parametrize(
    ("bounds", "grid"), [([0.1, 0.4, 0.1], {0.1, 0.2, 0.3, 0.4}), ([48, 80, 16], {48, 64, 80})]
)
def test_every_searcher_draws_the_same_steps(searcher: str, bounds: list[float], grid: set[float]) -> None:
    source = {"space": {"head": {"kind": "pooling"}, "weight_decay": {"quniform": bounds}}}
    own = SEARCHERS[searcher](parse_space(source, "mine"), 0)

    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Optuna changes bounds that do not fit its steps, and warns
        for number in range(40):
            draws = own.ask(str(number))
            assert draws is not None
            found.add(draws["weight_decay"])
            own.tell(str(number), number / 40)

    assert found == grid
