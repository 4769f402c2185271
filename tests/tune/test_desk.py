"""The desk writes down what comes back from the scan workers."""

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bv_search.command import Progress
from bv_search.heads.config import HeadShape
from bv_search.scan.checks import Check
from bv_search.scan.ladder import rungs_of
from bv_search.scan.outcome import Answers, Diverged, Final, Outcome
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.crew import Ended, Job, Lost
from bv_search.tune.desk import Desk
from bv_search.tune.pool import Pool
from bv_search.tune.resume import Past
from bv_search.tune.rungs import plan_rungs

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}
SHAPE = HeadShape(layers=2, width=4, outputs=2, per_token=False, tokens=1)
LADDER = ["majority", "probe-0", "probe-1", "probe-all"]


class Recorder:
    """What it was told."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.segments: list[Outcome] = []

    def mirror(self) -> None:
        """There is no MLflow."""

    def segment(self, outcome: Outcome, seconds: float) -> None:
        self.segments.append(outcome)

    def halted(self, trial: str, status: str, *, is_cut: bool) -> None:
        self.statuses[trial] = status

    def finished(self, final: Final, config: TrialConfig, status: str) -> None:
        self.statuses[final.trial] = status

    def state(self, trial: str, position: int) -> bytes:
        return trial.encode()

    def failed(self, trial: str, reason: str) -> None:
        self.failures[trial] = reason


class Crew:
    """One worker that answers as it was told to, one job after another; where it dies, another one starts."""

    size = 1

    def __init__(self, *answers: list[Any] | Lost) -> None:
        self._answers = deque(answers)
        self._starts = False
        self.running: list[Job] = []
        self.jobs: list[Job] = []

    @property
    def idle(self) -> int:
        return 0 if self._starts else self.size - len(self.running)

    def submit(self, job: Job) -> None:
        assert self.idle, "who is to do it?"
        self.running.append(job)
        self.jobs.append(job)

    def finished(self, *, wait: float | None) -> list[Ended]:
        if self._starts:
            self._starts = False
            return []
        result = self._answers.popleft()
        self._starts = isinstance(result, Lost) and result.worker_died
        return [Ended(job=self.running.pop(), result=result, seconds=0.0)]


def desk_of(crew: Crew, recorder: Recorder, *trials: str) -> Desk:
    rungs = plan_rungs([TrialConfig.from_json(CONFIG)], 1600, halving=False, one_token=True)
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
        desk.known(Past(trial=trial, config=CONFIG, position=100, status="done"))
    return desk


def final_of(trial: str) -> Final:
    answers = Answers(ids=[], logits=np.empty((0, 2)), loss=0.0, score=0.0, interval=(0.0, 0.0), metrics={})
    return Final(
        trial=trial, shape=SHAPE, weights=b"", copies=1, parameters=1, select=answers, report=answers
    )


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


def trained(trial: str, position: int, *, has_learned: bool) -> Outcome:
    found = Check(position=position, rows=16 * position, score=0.5, loss=0.7)
    return Outcome(
        trial=trial,
        position=position,
        rows=16 * position,
        state=b"",
        has_learned=has_learned,
        checks=(found,),
        found=found,
    )


@pytest.mark.parametrize(("has_learned", "status"), [(True, "done"), (False, "stopped")])
def test_a_head_that_has_learned_is_done_wherever_it_stands(has_learned: bool, status: str) -> None:
    crew, recorder = Crew([trained("a", 100, has_learned=has_learned)]), Recorder()
    desk = desk_of(crew, recorder)
    desk.park("a", CONFIG)
    desk.dispatch(all_are_in=True)

    news = desk.collect()
    desk.halt("a")

    assert news == {"a": {"score": 0.5, "loss": 0.7, "rows": 1600, "position": 100, "done": has_learned}}
    assert recorder.statuses == {"a": status}


def test_a_head_that_is_not_asked_for_goes_on_without_news() -> None:
    """Heads of a pack that come to the end of a neighbour: they are to be trained further."""
    crew, recorder = Crew([replace(trained("a", 100, has_learned=False), found=None)]), Recorder()
    desk = desk_of(crew, recorder)
    desk.park("a", CONFIG)
    desk.dispatch(all_are_in=True)

    assert desk.collect() == {}
    desk.dispatch(all_are_in=True)
    assert [job.method for job in crew.jobs] == ["segment", "segment"]


def test_what_was_known_to_have_learned_is_done() -> None:
    recorder = Recorder()
    desk = desk_of(Crew(), recorder)
    desk.known(Past(trial="a", config=CONFIG, position=100, has_learned=True))
    desk.known(Past(trial="b", config=CONFIG, position=100))
    desk.halt_all()

    assert recorder.statuses == {"a": "done", "b": "stopped"}


def test_a_diverged_rung_fails_alone() -> None:
    lost = Diverged(trial="probe-0", position=0, what="answers")
    finals = [lost if trial == "probe-0" else final_of(trial) for trial in LADDER]
    crew, recorder = Crew(finals), Recorder()
    desk = desk_of(crew, recorder)
    desk.climb(list(rungs_of(SHAPE)))
    desk.drain()

    assert [job.method for job in crew.jobs] == ["solve"]
    assert recorder.failures == {"probe-0": "diverged: answers not finite at micro-batch 0"}
    assert recorder.statuses == {trial: "done" for trial in LADDER if trial != "probe-0"}


def test_the_ladder_is_climbed_again_by_the_worker_that_follows_one_that_died() -> None:
    died = Lost(reason="gone", worker_died=True)
    crew, recorder = Crew(died, [final_of(trial) for trial in LADDER]), Recorder()
    desk = desk_of(crew, recorder)
    desk.climb(list(rungs_of(SHAPE)))
    desk.drain()

    assert [job.method for job in crew.jobs] == ["solve", "solve"]
    assert recorder.statuses == dict.fromkeys(LADDER, "done")


def test_the_next_segment_waits_for_a_ladder_that_is_climbed_again() -> None:
    crew, recorder = Crew(Lost(reason="gone", worker_died=True), []), Recorder()
    desk = desk_of(crew, recorder)
    desk.climb(list(rungs_of(SHAPE)))
    desk.park("a", CONFIG)
    for _ in range(3):
        desk.collect()
        desk.dispatch(all_are_in=True)

    assert [job.method for job in crew.jobs] == ["solve", "solve", "segment"]


def test_a_ladder_that_kills_its_workers_fails() -> None:
    died = Lost(reason="its scan worker died", worker_died=True)
    crew, recorder = Crew(died, died), Recorder()
    desk = desk_of(crew, recorder)
    desk.climb(list(rungs_of(SHAPE)))
    desk.drain()

    assert recorder.failures == dict.fromkeys(LADDER, "its scan worker died")


def test_a_ladder_that_cannot_be_climbed_says_why() -> None:
    crew, recorder = Crew(Lost(reason="a bug", worker_died=False)), Recorder()
    desk = desk_of(crew, recorder)
    desk.climb(list(rungs_of(SHAPE)))
    desk.drain()

    assert recorder.failures == dict.fromkeys(LADDER, "a bug")
