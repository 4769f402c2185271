"""Heads above a limit are never proposed."""

import re

import pytest

from bv_search.errors import SpaceError
from bv_search.heads.config import HeadShape, head_from_json
from bv_search.heads.head import count_parameters
from bv_search.space.space import Space, parse_space
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.sizes import Sizes

SHAPE = HeadShape(layers=5, width=24, outputs=2, per_token=False, tokens=1)
HUGE = 10**12  # more than torch can count


def space_of(limit: int | None, high: int = 4000) -> Space:
    head = {"choice": [{"kind": "adapter", "size": {"randint": [1, high]}}, {"kind": "pooling"}]}
    inside = {"head": head, "learning_rate": 0.01, "dropout": {"uniform": [0.0, 0.5]}}
    return parse_space({"space": inside, **({} if limit is None else {"max_parameters": limit})}, "it")


def adapter(size: int) -> int:
    return count_parameters(head_from_json({"kind": "adapter", "size": size}), SHAPE)


@pytest.mark.parametrize("size", [7, HUGE])
def test_a_head_of_just_the_limit_fits(size: int) -> None:
    sizes = Sizes(space_of(adapter(7), high=2 * HUGE), SHAPE)
    point = {"head": 0, "head.0.size": size, "dropout": 0.1}
    assert sizes.fit(point) == (size == 7)
    assert not Sizes(space_of(adapter(7) - 1), SHAPE).fit({**point, "head.0.size": 7})
    assert Sizes(space_of(None), SHAPE).fit(point)


def test_a_limit_that_no_head_fits_is_refused() -> None:
    smallest = adapter(1)
    Sizes(space_of(smallest), SHAPE).check()
    said = f"it: has no head that small; expected max_parameters of {smallest} or more"
    with pytest.raises(SpaceError, match=re.escape(said)):
        Sizes(space_of(smallest - 1), SHAPE).check()


def test_memory_is_planned_for_what_fits_and_not_for_the_smallest_of_it() -> None:
    """A corner may be far below the limit, and what is trained just below it."""
    limit = adapter(1000)
    planned = {trial.head for trial in Sizes(space_of(limit), SHAPE).planned()}
    assert 0.8 * limit < max(count_parameters(head, SHAPE) for head in planned) <= limit
    assert len(Sizes(space_of(None), SHAPE).planned()) == len(list(space_of(None).corners()))


@pytest.mark.parametrize("name", [name for name in SEARCHERS if name != "grid"])
def test_where_next_to_nothing_fits_something_is_proposed(name: str) -> None:
    """One adapter in millions, and nothing beside it."""
    inside = {
        "head": {"kind": "adapter", "size": {"randint": [1, 5 * 10**6]}},
        "learning_rate": {"loguniform": [1e-3, 1e-1]},
    }
    sizes = Sizes(parse_space({"space": inside, "max_parameters": adapter(1)}, "it"), SHAPE)
    points = [SEARCHERS[name](sizes.space, 0, sizes.fit).ask(str(n)) for n in (1, 2)]
    assert [point and point["head.size"] for point in points] == [1, 1]
    assert points[0] != points[1]
