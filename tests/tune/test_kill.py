"""A search that is killed and resumed ends as one that nobody broke off.

Here a kill is what it leaves on the disk: a run as it stood before or after a line of its journal. Real ones
are in test_search.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bv_search.run.folder import Run
from bv_search.run.trial import DONE, STOPPED
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.resume import read_past, read_round
from tests.stores import make_class_store
from tests.tune.conftest import ended_alike
from tests.tune.rehearsal import Stage, watched

SPACE = """
space:
  head:
    choice:
      - {kind: pooling, pooling: {choice: [learned, average]}}
      - {kind: adapter, size: {choice: [2, 4]}, shared: {choice: [true, false]}}
  learning_rate: {loguniform: [0.001, 0.03]}
  passes: {choice: [10, auto]}
  patience: 1
"""
SEARCHES: dict[str, dict[str, Any]] = {
    "one-worker": {"searcher": "hyperopt", "trials": 13, "generation": 4, "folds": 1},
    "two-workers": {
        "searcher": "optuna",
        "trials": 12,
        "generation": 5,
        "pack": "3",
        "folds": 2,
        "workers": 2,
    },
    "folds": {"searcher": "random", "trials": 16, "pack": "3", "folds": 3},
    "enough": {"searcher": "random", "trials": 60, "pack": "5", "patience": 4, "folds": 1, "workers": 2},
}
KILLS = 5  # of each search
SLOW_KILLS = 100


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "classes", windows=96)


@dataclass(frozen=True)
class Whole:
    """A search that nobody broke off, and the moments at which it might have been."""

    run: Run
    moments: list[Path]


@pytest.fixture(params=SEARCHES)
def whole(
    request: pytest.FixtureRequest,
    stage: Stage,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Whole:
    space = tmp_path / "small.yaml"
    space.write_text(SPACE)
    config = TuneConfig(
        space=str(space),
        store=store.path,
        runs=tmp_path / "runs",
        name="it",
        finalists=2,
        seeds=2,
        **SEARCHES[request.param],
    )
    with watched(tmp_path / "moments", monkeypatch) as moments:
        run = stage.search(config)
    assert {record.status for record in run.trials()} >= {DONE, STOPPED}
    return Whole(run, moments)


def test_wherever_a_search_is_killed_it_ends_as_it_would_have(whole: Whole, stage: Stage) -> None:
    kill(whole, stage, KILLS)


@pytest.mark.slow
def test_at_hundreds_of_places_a_killed_search_ends_as_it_would_have(whole: Whole, stage: Stage) -> None:
    kill(whole, stage, SLOW_KILLS)


def is_half(moment: Path) -> bool:
    """Whether some packs of a round are in, and others away."""
    events = Run.open(moment).events()
    away, are_in = read_round(events, read_past(events))
    return bool(away and are_in)


def kill(whole: Whole, stage: Stage, count: int) -> None:
    numbers, rng = range(len(whole.moments)), Random(count)
    half = [number for number in numbers if is_half(whole.moments[number])]
    chosen = rng.sample(half, min(count // 2, len(half)))
    others = [number for number in numbers if number not in chosen]
    for number in chosen + rng.sample(others, min(count - len(chosen), len(others))):
        stage.pace.seed(number)  # which worker is the first does not matter
        resumed = stage.resume(whole.moments[number])
        ended_alike(resumed, whole.run)
        assert not list((resumed.path / "states").glob("*")), "what a kill left behind is gone"
