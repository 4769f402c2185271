"""One Ray for all searches of a file: a second `ray_session` inside it takes part in it."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from bv_search.cluster import ray_session
from bv_search.command import main
from bv_search.run.folder import LEADERBOARD, Run
from bv_search.run.trial import TrialRecord
from bv_search.store.store import Store
from bv_search.tune.__main__ import COMMAND
from tests.extract.conftest import pairs, stage
from tests.stores import make_class_store, make_span_store

__all__ = ["pairs", "stage"]


def run(*words: object) -> int:
    """The command, in this process."""
    return main(COMMAND, [str(word) for word in words])


def searched(run: Run) -> list[TrialRecord]:
    """Trials that the search proposed."""
    return [record for record in run.trials() if record.is_searched]


def ladder(run: Run) -> list[TrialRecord]:
    return [record for record in run.trials() if record.rung is not None]


def finished(run: Run) -> list[TrialRecord]:
    """Best on select first."""
    return [record for record in run.finished_trials() if record.is_searched]


def ended_alike(run: Run, other: Run) -> None:
    """To the bit, but for how long it took."""
    with (run.path / LEADERBOARD).open() as ours, (other.path / LEADERBOARD).open() as theirs:
        for one, its_like in zip(csv.DictReader(ours), csv.DictReader(theirs), strict=True):
            assert {**one, "seconds": ""} == {**its_like, "seconds": ""}
    for record in run.trials():
        mine, its = (sorted(each.trial_folder(record.id).glob("*")) for each in (run, other))
        assert [path.name for path in mine] == [path.name for path in its]
        for path, like in zip(mine, its, strict=True):
            assert path.read_bytes() == like.read_bytes(), f"{record.id}/{path.name}"


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="session")
def span_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_span_store(tmp_path_factory.mktemp("stores") / "span")


@pytest.fixture(scope="session")
def class_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "classes")


@pytest.fixture
def small_space(tmp_path: Path) -> str:
    """Five kinds of heads, one of them much longer on its way."""
    path = tmp_path / "small.yaml"
    path.write_text(
        """
space:
  head:
    choice:
      - {kind: pooling, pooling: {choice: [learned, average]}}
      - {kind: adapter, size: {choice: [4, 8]}, shared: {choice: [true, false]}, skip: true}
  learning_rate: {choice: [0.01, 0.003]}
  passes: {choice: [1, 12]}
start:
  - {head: {kind: adapter, size: 8, shared: true, skip: true}, learning_rate: 0.01, passes: 12}
"""
    )
    return str(path)
