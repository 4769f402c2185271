"""The dispatcher writes down what comes back from the scan workers."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bv_search.command import Progress
from bv_search.heads.config import HeadShape
from bv_search.scan.checks import Check
from bv_search.scan.ladder import rungs_of
from bv_search.scan.outcome import Diverged, Final, RoleAnswers, SegmentResult
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.halving import Halving
from bv_search.tune.packing import News, Order, Packer, WaitingHead, plan_rungs
from bv_search.tune.resume import Past
from bv_search.tune.workers import Call, EndedCall, LostCall

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}
SHAPE = HeadShape(layers=2, width=4, outputs=2, per_token=False, tokens=1)
LADDER = ["majority", "probe-0", "probe-1", "probe-all"]


class Recorder:
    """What it was told."""

    def __init__(self, *left: str) -> None:
        self.failures: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.segments: list[SegmentResult] = []
        self.rounds: list[list[list[str]]] = []
        self.left = left  # packs that an earlier session noted
        self.packs: list[list[str]] = []

    def mirror(self) -> None:
        """There is no MLflow."""

    def began_round(self, orders: Sequence[Order]) -> None:
        self.rounds.append([order.trials for order in orders])

    def segment(self, outcomes: Sequence[SegmentResult], seconds: float, over: Mapping[str, str]) -> None:
        self.segments += outcomes
        self.failures |= {o.trial: o.failure for o in outcomes if o.failure is not None}
        self.statuses |= over

    def halted(self, statuses: Mapping[str, str], cut: Collection[str]) -> None:
        self.statuses |= statuses

    def finished(self, pack: Sequence[tuple[Final | Diverged, TrialConfig, str]]) -> None:
        for final, _, status in pack:
            if isinstance(final, Diverged):
                self.failures[final.trial] = str(final)
            else:
                self.statuses[final.trial] = status

    def noted(self, work: str, packs: list[list[str]]) -> None:
        self.packs = packs

    def packs_left(self, work: str, trials: Collection[str]) -> list[list[str]]:
        return [list(pack) for pack in self.left]

    def state(self, trial: str, position: int) -> bytes:
        return trial.encode()

    def failed(self, trial: str, reason: str) -> None:
        self.failures[trial] = reason


class Workers:
    """Workers that answer as they were told to, the last call first; where one dies, another one starts."""

    def __init__(self, *answers: list[Any] | LostCall, size: int = 1) -> None:
        self.size = size
        self.answers = deque(answers)
        self._starts = False
        self.running: list[Call] = []
        self.calls: list[Call] = []

    @property
    def idle(self) -> int:
        return 0 if self._starts else self.size - len(self.running)

    def expect(self, calls: int) -> None:
        """All are there."""

    def submit(self, call: Call) -> None:
        assert self.idle, "who is to do it?"
        self.running.append(call)
        self.calls.append(call)

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        if self._starts:
            self._starts = False
            return []
        result = self.answers.popleft()
        self._starts = isinstance(result, LostCall) and result.worker_died
        return [EndedCall(call=self.running.pop(), result=result, seconds=0.0)]


def dispatcher_of(
    workers: Workers, recorder: Recorder, *trials: str, halving: bool = False, target: float | None = None
) -> Dispatcher:
    rungs = plan_rungs([TrialConfig.from_json(CONFIG)], 1600, halving=halving, one_token=True)
    parts: dict[str, Any] = {"workers": workers, "recorder": recorder}
    dispatcher = Dispatcher(
        packer=Packer(rungs, 8),
        halving=Halving(rungs),
        progress=Progress(quiet=True),
        total=len(trials),
        budget=Budget(None, target=target),
        **parts,
    )
    for trial in trials:
        dispatcher.recall(Past(trial=trial, config=CONFIG, position=100, status="done"))
    return dispatcher


def final_of(trial: str) -> Final:
    answers = RoleAnswers(
        ids=[], logits=np.empty((0, 2)), loss=0.0, score=0.0, interval=(0.0, 0.0), metrics={}
    )
    return Final(
        trial=trial,
        shape=SHAPE,
        weights=b"",
        copies=1,
        parameters=1,
        select=answers,
        train=None,
        report=answers,
    )


def test_a_head_without_answers_fails_at_the_end() -> None:
    workers = Workers([Diverged(trial="a", position=100, what="answers")])
    recorder = Recorder()

    dispatcher_of(workers, recorder, "a").finish(pack=8)

    assert recorder.failures == {"a": "diverged: answers not finite at micro-batch 100"}


def test_heads_that_cannot_be_scored_together_are_scored_apart() -> None:
    died, broken = LostCall(reason="gone", worker_died=True), LostCall(reason="a bug", worker_died=False)
    workers = Workers(died, died, broken, broken)
    recorder = Recorder()

    dispatcher_of(workers, recorder, "a", "b").finish(pack=8)

    assert [call.arguments for call in workers.calls] == [([b"a", b"b"],)] * 2 + [([b"a"],), ([b"b"],)]
    assert recorder.failures == {"a": "a bug", "b": "a bug"}


GONE = LostCall(reason="its scan worker's machine is gone", worker_died=True, machine_lost=True)
LOSSES = 9  # more than any head may cost processes


def test_heads_are_not_charged_for_machines_that_are_lost_while_they_are_scored() -> None:
    workers = Workers(*[GONE] * LOSSES, [final_of("a"), final_of("b")])
    recorder = Recorder()

    dispatcher_of(workers, recorder, "a", "b").finish(pack=8)

    assert [call.arguments for call in workers.calls] == [([b"a", b"b"],)] * (LOSSES + 1)
    assert recorder.failures == {}


def test_nor_is_the_ladder() -> None:
    workers, recorder = Workers(*[GONE] * LOSSES, [final_of(trial) for trial in LADDER]), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.drain()

    assert recorder.statuses == dict.fromkeys(LADDER, "done")


def test_nor_are_they_for_machines_that_are_lost_while_they_learn() -> None:
    """A process that dies is another matter, before and after."""
    died = replace(GONE, machine_lost=False)
    workers, recorder = Workers(GONE, died, *[GONE] * LOSSES, died, died, died), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    for trial in "ab":
        dispatcher.park(trial, CONFIG)
    for _ in range(2 * (LOSSES + 6)):
        dispatcher.dispatch(all_are_in=True)
        if workers.answers:
            dispatcher.collect()

    packs = [[head.trial for head in call.arguments[0]] for call in workers.calls if call.method == "segment"]
    assert packs[: LOSSES + 3] == [["a", "b"]] * (LOSSES + 3)
    assert packs[LOSSES + 3 :][:2] == [["a"], ["a"]], "the second process that died takes them apart"


def trained(trial: str, position: int, *, has_learned: bool) -> SegmentResult:
    found = Check(position=position, rows=16 * position, score=0.5, loss=0.7)
    return SegmentResult(
        trial=trial,
        position=position,
        rows=16 * position,
        state=b"",
        has_learned=has_learned,
        checks=(found,),
        found=found,
    )


@pytest.mark.parametrize(("has_learned", "status"), [(True, "done"), (False, "")])
def test_a_head_that_has_learned_is_done_wherever_it_stands(has_learned: bool, status: str) -> None:
    workers, recorder = Workers([trained("a", 100, has_learned=has_learned)]), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.park("a", CONFIG)
    dispatcher.dispatch(all_are_in=True)

    news = dispatcher.collect()

    assert news == {"a": News(score=0.5, goes_on=not status)}
    assert recorder.statuses == ({"a": status} if status else {})
    dispatcher.halt_all()
    assert recorder.statuses == {"a": status or "stopped"}


def test_a_head_that_is_not_asked_for_goes_on_without_news() -> None:
    """Heads of a pack that come to the end of a neighbour: they are to be trained further."""
    workers, recorder = Workers([replace(trained("a", 100, has_learned=False), found=None)]), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.park("a", CONFIG)
    dispatcher.dispatch(all_are_in=True)

    assert dispatcher.collect() == {}
    dispatcher.dispatch(all_are_in=True)
    assert [call.method for call in workers.calls] == ["segment", "segment"]


def scored(trial: str, score: float, *, position: int, has_learned: bool = False) -> SegmentResult:
    found = Check(position=position, rows=16 * position, score=score, loss=0.7)
    return replace(trained(trial, position, has_learned=has_learned), found=found)


RUNG = plan_rungs([TrialConfig.from_json(CONFIG)], 1600, halving=True, one_token=True).of(
    TrialConfig.from_json(CONFIG)
)[0]


@pytest.mark.parametrize("first", [0, 1])
def test_a_rung_hears_every_score_of_a_round_before_it_judges_a_head(first: int) -> None:
    """Whichever worker is the first, of the four the best two go on."""
    scores = {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.8}
    workers, recorder = Workers(size=2), Recorder()
    dispatcher = dispatcher_of(workers, recorder, halving=True)
    for trial in scores:
        dispatcher.park(trial, CONFIG)
    dispatcher.dispatch(all_are_in=True)
    assert recorder.rounds == [[["a", "b"], ["c", "d"]]], "noted before they go"
    if first == 0:
        workers.running.reverse()
    for call in reversed(workers.running):
        workers.answers.append([scored(t, scores[t], position=RUNG) for t in call.about.trials])

    assert (dispatcher.collect(), recorder.statuses) == ({}, {}), "others are on their way"
    news = dispatcher.collect()

    assert {trial for trial, told in news.items() if told.goes_on} == {"b", "d"}
    assert recorder.statuses == {"a": "stopped", "c": "stopped"}


def test_one_that_learned_on_the_way_is_a_measure_for_those_that_come_to_the_rung() -> None:
    workers, recorder = Workers(), Recorder()
    dispatcher = dispatcher_of(workers, recorder, halving=True)
    for trial in "abc":
        dispatcher.park(trial, CONFIG)
    workers.answers.append(
        [
            scored("a", 0.9, position=RUNG - 13, has_learned=True),
            scored("b", 0.5, position=RUNG),
            scored("c", 0.95, position=RUNG),
        ]
    )
    dispatcher.dispatch(all_are_in=True)
    dispatcher.collect()
    assert recorder.statuses == {"a": "done", "b": "stopped"}


def test_a_round_that_was_broken_off_is_judged_once_the_others_are_in() -> None:
    """As it would have been: those that were in already wait for them."""
    workers, recorder = Workers(), Recorder()
    dispatcher = dispatcher_of(workers, recorder, halving=True)
    at_rung = Check(position=RUNG, rows=16 * RUNG, score=0.5, loss=0.7)
    for trial in "ab":
        dispatcher.recall(Past(trial=trial, config=CONFIG, position=RUNG, found=[(RUNG, at_rung)]))
    dispatcher.recall(Past(trial="c", config=CONFIG))
    away = WaitingHead(trial="c", config=TrialConfig.from_json(CONFIG), position=0)
    workers.answers.append([scored("c", 0.9, position=RUNG)])

    dispatcher.complete([Order(heads=(away,), stop=RUNG, score=frozenset("c"))], {"a": at_rung, "b": at_rung})

    assert [call.arguments[1:3] for call in workers.calls] == [(RUNG, frozenset("c"))]
    assert recorder.statuses == {"a": "stopped", "b": "stopped"}


def test_a_round_that_was_broken_off_is_given_up_where_the_search_is_over() -> None:
    workers, recorder = Workers(), Recorder()
    dispatcher = dispatcher_of(workers, recorder, halving=True, target=0.8)
    at_rung = Check(position=RUNG, rows=16 * RUNG, score=0.9, loss=0.7)
    dispatcher.recall(Past(trial="a", config=CONFIG, position=RUNG, found=[(RUNG, at_rung)]))
    dispatcher._budget.hear("a", 0.9)
    away = WaitingHead(trial="b", config=TrialConfig.from_json(CONFIG), position=0)

    dispatcher.complete([Order(heads=(away,), stop=RUNG, score=frozenset("b"))], {"a": at_rung})

    assert workers.calls == []


def test_a_head_that_failed_is_told_with_the_others_of_its_round() -> None:
    died = LostCall(reason="a bug", worker_died=False)
    workers, recorder = Workers(size=2), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    for trial in "ab":
        dispatcher.park(trial, CONFIG)
    dispatcher.dispatch(all_are_in=True)
    workers.answers.extend([died, [trained("a", 100, has_learned=True)]])
    assert (dispatcher.collect(), recorder.failures) == ({}, {"b": "a bug"})
    assert set(dispatcher.collect()) == {"a", "b"}


def test_heads_that_were_to_be_scored_together_are() -> None:
    """By the session that was broken off; those that came later are scored apart."""
    workers, recorder = Workers([final_of("b"), final_of("c")], [final_of("a")]), Recorder("bc")
    dispatcher_of(workers, recorder, "a", "b", "c").finish(pack=1)
    assert [call.arguments for call in workers.calls] == [([b"b", b"c"],), ([b"a"],)]
    assert recorder.packs == [["b", "c"], ["a"]]


def test_what_was_known_to_have_learned_is_done() -> None:
    recorder = Recorder()
    dispatcher = dispatcher_of(Workers(), recorder)
    dispatcher.recall(Past(trial="a", config=CONFIG, position=100, has_learned=True))
    dispatcher.recall(Past(trial="b", config=CONFIG, position=100))
    dispatcher.halt_all()

    assert recorder.statuses == {"a": "done", "b": "stopped"}


def test_a_diverged_rung_fails_alone() -> None:
    lost = Diverged(trial="probe-0", position=0, what="answers")
    finals = [lost if trial == "probe-0" else final_of(trial) for trial in LADDER]
    workers, recorder = Workers(finals), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.drain()

    assert [call.method for call in workers.calls] == ["solve"]
    assert recorder.failures == {"probe-0": "diverged: answers not finite at micro-batch 0"}
    assert recorder.statuses == {trial: "done" for trial in LADDER if trial != "probe-0"}


def test_the_ladder_is_solved_again_by_the_worker_that_follows_one_that_died() -> None:
    died = LostCall(reason="gone", worker_died=True)
    workers, recorder = Workers(died, [final_of(trial) for trial in LADDER]), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.drain()

    assert [call.method for call in workers.calls] == ["solve", "solve"]
    assert recorder.statuses == dict.fromkeys(LADDER, "done")


def test_the_next_segment_waits_for_a_ladder_that_is_solved_again() -> None:
    workers, recorder = Workers(LostCall(reason="gone", worker_died=True), []), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.park("a", CONFIG)
    for _ in range(3):
        dispatcher.collect()
        dispatcher.dispatch(all_are_in=True)

    assert [call.method for call in workers.calls] == ["solve", "solve", "segment"]


def test_a_rung_that_kills_its_workers_fails_alone() -> None:
    died = LostCall(reason="its scan worker died", worker_died=True)
    heavy, *others = reversed(LADDER)
    workers = Workers(died, died, died, died, *([final_of(trial)] for trial in others))
    recorder = Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.drain()

    assert recorder.failures == {heavy: "its scan worker died"}
    assert recorder.statuses == dict.fromkeys(others, "done")


def test_a_ladder_that_cannot_be_solved_says_why() -> None:
    fault = LostCall(reason="a bug", worker_died=False)
    workers, recorder = Workers(fault, *(fault for _ in LADDER)), Recorder()
    dispatcher = dispatcher_of(workers, recorder)
    dispatcher.solve_ladder(list(rungs_of(SHAPE)))
    dispatcher.drain()

    assert recorder.failures == dict.fromkeys(LADDER, "a bug")
