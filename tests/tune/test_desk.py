"""The desk writes down what comes back from the scan workers."""

from collections import deque
from typing import Any

from bv_search.command import Progress
from bv_search.scan.outcome import Diverged
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.crew import Ended, Job, Lost
from bv_search.tune.desk import Desk
from bv_search.tune.pool import Pool
from bv_search.tune.rungs import plan_rungs

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}


class Recorder:
    """What it was told."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def state(self, trial: str, position: int) -> bytes:
        return trial.encode()

    def failed(self, trial: str, reason: str) -> None:
        self.failures[trial] = reason


class Crew:
    """One worker that answers as it was told to, one job after another."""

    size = 1

    def __init__(self, *answers: list[Any] | Lost) -> None:
        self._answers = deque(answers)
        self.running: list[Job] = []
        self.jobs: list[Job] = []

    @property
    def idle(self) -> int:
        return self.size - len(self.running)

    def submit(self, job: Job) -> None:
        self.running.append(job)
        self.jobs.append(job)

    def finished(self, *, wait: float | None) -> list[Ended]:
        return [Ended(job=self.running.pop(), result=self._answers.popleft(), seconds=0.0)]


def desk_of(crew: Crew, recorder: Recorder, *trials: str) -> Desk:
    rungs = plan_rungs([TrialConfig.from_json(CONFIG)], 1600, halving=False)
    parts: dict[str, Any] = {"crew": crew, "recorder": recorder}
    desk = Desk(
        pool=Pool(rungs, 8),
        rungs=rungs,
        progress=Progress(quiet=True),
        total=len(trials),
        budget=Budget(None),
        **parts,
    )
    for trial in trials:
        desk.known(trial, CONFIG, 100, "done")
    return desk


def test_a_head_without_answers_fails_at_the_end() -> None:
    crew = Crew([Diverged(trial="a", position=100, what="answers")])
    recorder = Recorder()

    desk_of(crew, recorder, "a").finish(pack=8)

    assert recorder.failures == {"a": "diverged: answers not finite at micro-batch 100"}


def test_heads_that_cannot_be_scored_together_are_scored_apart() -> None:
    died, broken = Lost(reason="gone", worker_died=True), Lost(reason="a bug", worker_died=False)
    crew = Crew(died, died, broken, broken)
    recorder = Recorder()

    desk_of(crew, recorder, "a", "b").finish(pack=8)

    assert [job.arguments for job in crew.jobs] == [([b"a", b"b"],)] * 2 + [([b"a"],), ([b"b"],)]
    assert recorder.failures == {"a": "a bug", "b": "a bug"}
