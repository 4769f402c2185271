"""What a search takes in its driver: trials by Ray Tune, the searcher, rounds, files, journal and MLflow.

Everything is real but the scan workers, which answer at once.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.bench.config import BenchConfig
from bv_search.bench.empty_workers import EmptyWorkers
from bv_search.bench.sampler import MemoryPoint, Sampler
from bv_search.cluster import ray_session
from bv_search.command import Progress, Result
from bv_search.precision import FLOAT32
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.store.store import Store
from bv_search.tune.budget import Budget
from bv_search.tune.config import TuneConfig
from bv_search.tune.recorder import Recorder
from bv_search.tune.session import Session
from bv_search.tune.step_times import StepTimes
from bv_search.tune.study import open_study

ROWS, LAYERS, WIDTH = 3000, 2, 8
PARTS = {
    "bv_search/run/journal.py": "journal",
    "bv_search/run/mlflow": "MLflow",
    "bv_search/bench/empty_workers.py": "empty segments",
    "bv_search/tune/searchers/": "searcher",
    "bv_search/tune/recorder.py": "files",
    "bv_search/tune/": "rounds",
    "ray/": "Ray Tune",
}


@dataclass(frozen=True, kw_only=True)
class DriverCost:
    """Of a search of so many trials by so many workers."""

    trials: int
    workers: int
    searcher: str
    seconds: float  # in all
    cpu_seconds: float  # of the process
    parts: dict[str, float]  # seconds a trial
    memory: tuple[MemoryPoint, ...]

    @property
    def seconds_a_trial(self) -> float:
        return self.seconds / self.trials

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seconds_a_trial": self.seconds_a_trial}

    def __str__(self) -> str:
        lines = [
            f"{self.trials} trials by {self.searcher}, {self.workers} workers that learn nothing: "
            f"{self.seconds:.1f} s, {self.seconds_a_trial:.4f} s a trial "
            f"({self.cpu_seconds / self.trials:.4f} s of CPU)",
            *(f"  {name:16} {seconds:.4f} s" for name, seconds in self.parts.items()),
            "memory of the driver, by trials that are over:",
            *(f"  {point.done:>7,}  {point.bytes / 1e6:,.0f} MB" for point in tenths(self.memory)),
        ]
        return "\n".join(lines)


def run(asked: BenchConfig, progress: Progress) -> Result:
    cost = measure(
        trials=asked.trials,
        workers=asked.workers,
        pack=asked.heads,
        searcher=asked.searcher,
        progress=progress,
    )
    return Result(text=str(cost), json=cost.to_json())


def measure(*, trials: int, workers: int, pack: int, searcher: str, progress: Progress) -> DriverCost:
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        store = small_store(Path(folder) / "store")
        config = TuneConfig(
            space="classification",
            store=str(store.path),
            searcher=searcher,
            trials=trials,
            generation=min(trials, workers * pack),
            folds=1,
            finalists=0,
            pack=str(pack),
            workers=workers,
            precision=FLOAT32,
            runs=Path(folder) / "runs",
        )
        return _measure(config, EmptyWorkers(store, workers, pack), progress)


def _measure(config: TuneConfig, workers: EmptyWorkers, progress: Progress) -> DriverCost:
    study = open_study(config)
    with study.run.writing(), MlflowMirror(study.run).guarded() as mirror, ray_session():
        budget = Budget(None)
        session = Session(
            study=study,
            past=[],
            workers=workers,
            recorder=Recorder(study.run, study.store, mirror),
            budget=budget,
            progress=progress,
            times=StepTimes(),
        )
        with Sampler(PARTS, lambda: count_over(study.run)) as sampler:
            session.run()
            mirror.close("FINISHED")
    assert config.trials is not None
    assert config.searcher is not None
    return DriverCost(
        trials=config.trials,
        workers=workers.size,
        searcher=config.searcher,
        seconds=sampler.seconds,
        cpu_seconds=sampler.cpu_seconds,
        parts={part: share * sampler.seconds / config.trials for part, share in sampler.shares.items()},
        memory=tuple(sampler.memory),
    )


def count_over(run: Run) -> int:
    """Trials whose answers are written: one folder each."""
    return sum(1 for _ in (run.path / "trials").iterdir())


def small_store(place: Path) -> Store:
    """Rows enough for rungs, of states that say nothing."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(ROWS, LAYERS, WIDTH)).astype(np.float32)
    return Store.from_arrays(place, hidden, rng.integers(0, 2, size=ROWS))


def tenths(memory: Sequence[MemoryPoint]) -> list[MemoryPoint]:
    places = np.linspace(0, len(memory) - 1, min(11, len(memory)), dtype=int)
    return [memory[place] for place in places]
