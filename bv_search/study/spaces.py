"""The search spaces of the runs of studies: a grid of heads, a search, one head again and again."""

from collections.abc import Mapping, Sequence
from typing import Any

from bv_search.errors import SpaceError
from bv_search.space.space import Space, find_space
from bv_search.study.config import StudiesConfig
from bv_search.tasks.task import Kind, Task

GRIDS = {Kind.SPAN: "paper-span", Kind.CLASSIFICATION: "paper-classification"}
SEARCHED = {Kind.SPAN: "adapters", Kind.CLASSIFICATION: "classification"}

SpaceDocument = Mapping[str, Any]


def grid_of(config: StudiesConfig, task: Task) -> SpaceDocument:
    """Every head of the grid, with each seed."""
    space = find_space(config.heads or _by_kind(GRIDS, task))
    document = _with_seeds(space.document["space"], config.seeds, space.name)
    if not find_space(document).is_enumerable():
        raise SpaceError(
            "is no grid of heads",
            where=space.name,
            expected="choices alone, each of which is trained",
            do="search it instead: --space",
        )
    return document


def searched(config: StudiesConfig, task: Task) -> str | SpaceDocument:
    return config.space or _by_kind(SEARCHED, task)


def one_head(config: Mapping[str, Any], seeds: int, shares: Sequence[float] = ()) -> SpaceDocument:
    """A trial's config with each seed, on each share of the data."""
    plain = {name: value for name, value in config.items() if name not in ("seed", "data_fraction")}
    return _with_seeds({**plain, **({"data_fraction": {"grid": list(shares)}} if shares else {})}, seeds, "")


def load(space: str | SpaceDocument, *, one_token: bool) -> Space:
    return find_space(space, one_token=one_token)


def _with_seeds(inside: Mapping[str, Any], seeds: int, name: str) -> SpaceDocument:
    if "seed" in inside:
        raise SpaceError("has seeds of its own", where=name, do="leave them out: --seeds says how many")
    return {"space": {**inside, "seed": {"grid": list(range(seeds))}}}


def _by_kind(names: Mapping[Kind, str], task: Task) -> str:
    return names.get(task.kind, names[Kind.CLASSIFICATION])
