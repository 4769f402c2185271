"""Studies on a few sentence pairs with a tiny encoder: two heads, two seeds.

And what the steps of studies leave, laid out of a finished study of spans without training anything more.
"""

from pathlib import Path

import pytest

from bv_search.run.folder import Run
from bv_search.study.config import StudiesConfig
from bv_search.study.folder import StudyFolder
from bv_search.study.steps import AMOUNTS, GRID, SEARCH
from tests.extract.conftest import write_pairs
from tests.model.small_run import Small, copy_run

HEADS = """
space:
  head:
    grid:
      - {kind: pooling, pooling: learned}
      - {kind: adapter, size: 2, shared: true}
  learning_rate: 0.003
  passes: 2
"""
SEARCHED = """
space:
  head: {kind: adapter, size: {choice: [4, 8]}, shared: true}
  learning_rate: {loguniform: [0.001, 0.01]}
  passes: 2
"""


def write_inputs(folder: Path) -> None:
    """Data and spaces."""
    (folder / "data").mkdir(parents=True)
    write_pairs(folder / "data")
    (folder / "heads.yaml").write_text(HEADS)
    (folder / "space.yaml").write_text(SEARCHED)


def words(folder: Path, encoder: Path, out: Path) -> list[str]:
    """Of the command line."""
    options = {
        "task": "mrpc",
        "encoder": encoder,
        "data": folder / "data",
        "heads": folder / "heads.yaml",
        "space": folder / "space.yaml",
        "stages": "0.5,1",
        "fractions": "0.5,1",
        "trials": 2,
        "seeds": 2,
        "cap": 50,
        "out": out,
    }
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def configured(folder: Path, encoder: Path, out: Path) -> StudiesConfig:
    """The same as a config."""
    return StudiesConfig(
        task="mrpc",
        encoder=str(encoder),
        data=str(folder / "data"),
        heads=str(folder / "heads.yaml"),
        space=str(folder / "space.yaml"),
        stages=(0.5, 1.0),
        fractions=(0.5, 1.0),
        trials=2,
        seeds=2,
        cap=50,
        out=out,
    )


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    write_inputs(folder / "in")
    return folder / "in"


@pytest.fixture
def made(small: Small, tmp_path: Path) -> StudyFolder:
    """One stage, store and run for both; at the later one a search, and a head on half of the data, too."""
    config = StudiesConfig(
        task="squad2-span",
        encoder=str(small.stage),
        out=tmp_path / "studies",
        data=str(small.data),
        stages=(0.3, 1.0),
        fractions=(0.5, 1.0),
        seeds=1,
    )
    for stage in config.marks:
        places = {config.stage_path(stage): small.stage, config.store_path(stage): Path(small.store.path)}
        for place, there in {**places, config.run_path(GRID, stage): small.run.path}.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(there)
    search = copy_run(small, config.run_path(SEARCH, 1.0))
    search.change_study(space={**search.study.space, "name": "adapters"})
    add_share(copy_run(small, config.run_path(AMOUNTS, 1.0)), "0002", 0.5)
    return StudyFolder(config=config)


def add_share(run: Run, trial: str, share: float) -> None:
    """A trial has the same head on a part of the data, which scores less; no other trial was searched."""
    events = {(event["event"], event.get("trial")): event for event in run.events()}
    for other in ("0001", "0003"):
        run.journal.append({"event": "finish", "trial": other, "status": "failed", "reason": "not asked for"})
    suggest, finish = events["suggest", trial], events["finish", trial]
    run.journal.append({**suggest, "trial": "0010", "config": {**suggest["config"], "data_fraction": share}})
    report = {**finish["report"], "score": finish["report"]["score"] / 2}
    run.journal.append({**finish, "trial": "0010", "score": finish["score"] / 2, "report": report})
