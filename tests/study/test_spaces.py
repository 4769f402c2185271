"""The spaces of studies: a grid with seeds, a search, one head again and again."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import SpaceError
from bv_search.study import spaces
from bv_search.study.config import StudiesConfig
from bv_search.tasks.registry import find_task

HEAD = {"head": {"kind": "pooling"}, "learning_rate": 0.01}


def config(**changes: Any) -> StudiesConfig:
    return StudiesConfig(**{"task": "mrpc", "encoder": "bert", "out": Path("out"), "seeds": 2, **changes})


def test_a_grid_has_every_head_with_each_seed() -> None:
    grid = {"space": {**HEAD, "head": {"grid": [{"kind": "pooling"}, {"kind": "linear"}]}}}
    document = spaces.grid_of(config(heads=grid), find_task("mrpc"))
    space = spaces.load(document, one_token=True)
    configs = map(space.config, space.points())
    found = [(each["head"]["kind"], each["seed"]) for each in configs]
    assert sorted(found) == [("linear", 0), ("linear", 1), ("pooling", 0), ("pooling", 1)]


def test_what_has_no_end_of_heads_is_no_grid() -> None:
    endless = {"space": {**HEAD, "learning_rate": {"uniform": [0.001, 0.01]}}}
    with pytest.raises(SpaceError, match="is no grid of heads"):
        spaces.grid_of(config(heads=endless), find_task("mrpc"))


def test_a_grid_with_seeds_of_its_own_is_refused() -> None:
    seeded = {"space": {**HEAD, "seed": {"grid": [0, 7]}}}
    with pytest.raises(SpaceError, match="has seeds of its own"):
        spaces.grid_of(config(heads=seeded), find_task("mrpc"))


def test_each_kind_of_task_has_spaces_of_its_own() -> None:
    span, pairs, values = map(find_task, ("squad2-span", "mrpc", "stsb"))
    assert spaces.searched(config(), span) == "adapters"
    assert spaces.searched(config(), pairs) == spaces.searched(config(), values) == "classification"
    assert spaces.searched(config(space="paper-span"), pairs) == "paper-span"
    kinds = [spaces.grid_of(config(), task)["space"]["head"] for task in (span, pairs)]
    assert kinds[0] != kinds[1]


def test_one_head_forgets_the_seed_and_the_share_that_it_had() -> None:
    trial = {**HEAD, "seed": 7, "data_fraction": 0.5}
    assert spaces.one_head(trial, 3) == {"space": {**HEAD, "seed": {"grid": [0, 1, 2]}}}
    shared = spaces.one_head(trial, 1, (0.1, 1.0))["space"]
    assert shared["data_fraction"] == {"grid": [0.1, 1.0]}
