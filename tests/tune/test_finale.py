"""The finale of a search: who is in it, and what becomes of packs whose worker dies."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.run.study import Study
from bv_search.scan.outcome import Diverged, Finalist, FinalistResult
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.finale import Finale, find_finalists
from bv_search.tune.workers import LostCall
from tests.run.conftest import encore, finish, make_study, segment
from tests.tune.test_dispatcher import Workers

__all__ = ["make_study"]

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}
DEATH = LostCall(reason="its scan worker died: out of memory", worker_died=True)
FAULT = LostCall(reason="RuntimeError: no", worker_died=False)


class Recorder:
    """What it was told."""

    def __init__(self, *left: str) -> None:
        self.told: dict[str, str] = {}
        self.left = left  # packs that an earlier session noted
        self.packs: list[list[str]] = []

    def mirror(self) -> None:
        """There is no MLflow."""

    def encores(self, pack: Sequence[tuple[FinalistResult | Diverged, TrialConfig]], seconds: float) -> None:
        for end, _ in pack:
            self.told[end.trial] = str(end) if isinstance(end, Diverged) else "learned"

    def noted(self, work: str, packs: list[list[str]]) -> None:
        self.packs = packs

    def packs_left(self, work: str, trials: Collection[str]) -> list[list[str]]:
        return [list(pack) for pack in self.left]

    def encore_failed(self, trial: str, reason: str) -> None:
        self.told[trial] = reason


def finalist(trial: str) -> Finalist:
    return Finalist(trial=trial, config=TrialConfig.from_json(CONFIG), position=9, copies=3)


def learned(*trials: str) -> list[Any]:
    made: Any = None
    return [FinalistResult(trial=trial, rows=96, bagged=made, single=made) for trial in trials]


def play(
    *answers: list[Any] | LostCall,
    room: int = 9,
    trials: str = "abc",
    left: Sequence[str] = (),
    budget: Budget | None = None,
) -> tuple[dict[str, str], list[str]]:
    """What is recorded, and who learned together."""
    workers, recorder = Workers(*answers), Recorder(*left)
    parts: dict[str, Any] = {"workers": workers, "recorder": recorder, "budget": budget or Budget(None)}
    Finale(progress=Progress(quiet=True), **parts).play([finalist(trial) for trial in trials], room)
    return recorder.told, ["".join(each.trial for each in call.arguments[0]) for call in workers.calls]


@pytest.mark.parametrize(
    ("room", "packs"),
    [(100, ["abc"]), (9, ["abc"]), (8, ["ab", "c"]), (3, ["a", "b", "c"]), (1, ["a", "b", "c"])],
)
def test_finalists_learn_together_as_far_as_there_is_room(room: int, packs: list[str]) -> None:
    told, found = play(*(learned(*pack) for pack in packs), room=room)
    assert (told, found) == (dict.fromkeys("abc", "learned"), packs)


def test_a_pack_that_was_noted_and_not_ended_learns_as_it_would_have() -> None:
    told, packs = play(learned("b"), learned("a", "c"), trials="abc", left=["b"])
    assert (told, packs) == (dict.fromkeys("bac", "learned"), ["b", "ac"])


def test_where_there_are_none_nothing_is_done() -> None:
    assert play(trials="") == ({}, [])


def test_a_pack_whose_worker_died_is_tried_again_and_then_apart() -> None:
    told, packs = play(DEATH, DEATH, learned("a"), DEATH, learned("c"), DEATH)
    assert told == {"a": "learned", "b": DEATH.reason, "c": "learned"}
    assert packs == ["abc", "abc", "a", "b", "c", "b"]


def test_a_pack_is_not_charged_for_machines_that_are_lost() -> None:
    gone = replace(DEATH, machine_lost=True)
    told, packs = play(gone, gone, gone, [*learned("a"), *learned("b"), *learned("c")])
    assert told == dict.fromkeys("abc", "learned")
    assert packs == ["abc"] * 4


def test_one_that_cannot_learn_keeps_none_of_the_others_from_it() -> None:
    told, packs = play(FAULT, learned("a"), FAULT, [Diverged(trial="c", position=4)])
    assert told == {"a": "learned", "b": FAULT.reason, "c": "diverged: loss not finite at micro-batch 4"}
    assert packs == ["abc", "a", "b", "c"]


def run_of(place: Path, study: Study) -> Run:
    """Five heads and a rung; the best weights of each were found at its second check of three."""
    run = Run.create(place, study)
    for number, score in enumerate((0.7, 0.6, 0.5, 0.8, 0.4), start=1):
        checks = [
            {"position": 2 * n, "rows": 32 * n, "score": score - 0.1 * (n != 2), "loss": 0.5}
            for n in (1, 2, 3)
        ]
        run.journal.append({"event": "suggest", "trial": f"{number:04d}", "config": CONFIG})
        run.journal.append(segment(f"{number:04d}", 96, score, checks=checks))
        run.journal.append(finish(f"{number:04d}", score, 0.5))
    rung = {"config": {"head": {"kind": "linear", "channels": 1}}, "rung": "probe"}
    run.journal.append({"event": "suggest", "trial": "probe-1", **rung}, finish("probe-1", 0.75, 0.5))
    return run


def test_the_best_few_are_finalists_but_for_rungs_of_the_ladder(tmp_path: Path, make_study: Any) -> None:
    run = run_of(tmp_path / "it", make_study(finalists=3, seeds=4))
    found = find_finalists(run)
    assert [(each.trial, each.position, each.copies) for each in found] == [("0004", 4, 4), ("0001", 4, 4)]
    assert found[0].config == TrialConfig.from_json(CONFIG)


def test_each_is_one_once(tmp_path: Path, make_study: Any) -> None:
    run = run_of(tmp_path / "it", make_study(finalists=3))
    run.journal.append(encore("0004"))
    assert [each.trial for each in find_finalists(run)] == ["0001"]
    failed = {"status": "failed", "reason": "diverged"}
    run.journal.append({"event": "encore", "of": "0001", "rows": 0, "seconds": 0.0, "bagged": failed})
    assert find_finalists(run) == []
    assert find_finalists(run_of(tmp_path / "other", make_study(finalists=0))) == []


def test_a_head_without_checks_is_best_where_it_stands(tmp_path: Path, make_study: Any) -> None:
    run = Run.create(tmp_path / "it", make_study(finalists=1))
    run.journal.append({"event": "suggest", "trial": "0001", "config": CONFIG})
    run.journal.append(segment("0001", 80, 0.5), finish("0001", 0.5, 0.5))
    assert [each.position for each in find_finalists(run)] == [5]


def test_an_interrupted_finale_ends_with_the_packs_under_way() -> None:
    budget = Budget(None)
    budget.interrupt()
    assert play(learned("a"), room=3, budget=budget) == ({}, [])
