"""Searches on real Ray: what they leave, how they are resumed, what ends them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray
import torch

from bv_search.command import Progress, main
from bv_search.errors import OutputError, RunError, StoreError, UserError
from bv_search.heads.copies import count_all, load_heads
from bv_search.model.loading import open_model
from bv_search.model.registry import registered_name
from bv_search.model.standings import ENSEMBLE
from bv_search.run.folder import ENSEMBLE as ENSEMBLE_FILE
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.predictions import read_predictions
from bv_search.run.trial import DONE, STOPPED
from bv_search.scan.checks import Check
from bv_search.space.space import parse_space
from bv_search.store.store import Store
from bv_search.tune import search as search_module
from bv_search.tune import session as session_module
from bv_search.tune.__main__ import COMMAND
from bv_search.tune.budget import Budget
from bv_search.tune.config import More, TuneConfig
from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.ray import workers as workers_module
from bv_search.tune.ray.workers import RayWorkers
from bv_search.tune.resume import Past, read_past
from bv_search.tune.search import run as search
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.session import doubts_of_learning
from bv_search.tune.study import open_study
from bv_search.tune.summary import compare_heads, describe, to_json
from bv_search.tune.workers import Call
from tests.hunter import killing
from tests.stores import LAYERS, make_class_store, make_span_store
from tests.tune.conftest import ended_alike, finished, ladder, searched

pytestmark = pytest.mark.usefixtures("ray_cluster")

QUIET = Progress(quiet=True)


def ask(space: str, store: Store, tmp_path: Path, **more: Any) -> TuneConfig:
    values = {"space": space, "store": store.path, "runs": tmp_path / "runs", "trials": 6, "name": "it"}
    return TuneConfig(**{**values, "folds": 1, "finalists": 0, **more})


def known(run: Run) -> dict[str, Any]:
    """The ensemble that a search ended with."""
    chosen = run.ensemble()
    assert chosen is not None
    return chosen


def scores(run: Run) -> list[tuple[str, str, float | None]]:
    return [(record.id, record.status, record.score) for record in searched(run)]


def test_neither_pack_nor_company_changes_a_result(tmp_path: Path) -> None:
    """Of the heads that are searched, nor of the ladder's probes, which are trained like them for spans."""
    store = make_span_store(tmp_path / "store", windows=64)
    table = tmp_path / "table.yaml"
    table.write_text(
        "space: {learning_rate: 0.01, passes: 1, "
        "head: {grid: [{kind: pooling}, {kind: adapter, size: 8}, {kind: adapter, size: 4}]}}"
    )

    alone = search(ask(str(table), store, tmp_path, pack="1", name="alone", scheduler="none"), QUIET)
    packed = search(ask(str(table), store, tmp_path, pack="3", name="packed", scheduler="none"), QUIET)

    assert len(searched(alone)) == 3
    for one, other in zip(alone.trials(), packed.trials(), strict=True):
        assert one.id == other.id
        assert one.score == pytest.approx(other.score, abs=0.011)
        assert one.report_score == pytest.approx(other.report_score, abs=0.011)


@pytest.mark.parametrize("folds", [1, 3])
def test_what_a_search_leaves_is_whole(
    small_space: str, span_store: Store, tmp_path: Path, folds: int
) -> None:
    run = Run.open(search(ask(small_space, span_store, tmp_path, folds=folds), QUIET).path)

    best = finished(run)[0]
    folder = run.trial_folder(best.id)
    heads = load_heads(folder)
    assert (len(heads), count_all(heads)) == (folds, best.parameters)
    for split, role in (("dev", "report"), ("select", "select")):
        ids = span_store.split(split).index["id"].to_pylist()
        assert len(read_predictions(folder / f"{role}.parquet", ids=ids).logits) == len(ids)
    assert best.interval is not None
    assert best.report_score is not None
    assert best.interval[0] <= best.report_score <= best.interval[1]
    assert not list((run.path / "states").iterdir()), "states of finished heads are gone"
    assert not (run.path / "ray").exists(), "what Ray Tune keeps is of no use to anybody"
    assert (len(searched(run)), len(finished(run))) == (6, 6)
    said = to_json(run)
    assert (said["failed"], said["best"]["trial"]) == (0, run.finished_trials()[0].id)
    assert said["baseline"] == 0.1
    assert said["seconds"]["total"] > 0
    assert 1e8 < said["memory"]["peak_scan_worker"] < 4e9, "torch and little else"
    assert best.id in describe(run)
    top = compare_heads(run)
    assert top is not None
    assert (top.of(ENSEMBLE) is None) == (top.unbeaten is not None), "the ladder ends with an ensemble"
    members = {member["trial"] for member in known(run)["members"]}
    assert members <= {None, *(record.id for record in run.finished_trials())}
    assert "peak memory of a scan worker: 0." in describe(run)


def test_a_search_of_folds_says_over_how_many_rows(
    small_space: str, class_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of few rows to choose by, folds are the default."""
    run = search(
        ask(small_space, class_store, tmp_path, searcher="hyperopt", folds=None, trials=1),
        Progress(quiet=False),
    )
    assert run.study.folds == 5
    opening = "1 trials by hyperopt, asha; 5 folds over 248 rows, 248 windows, "
    assert opening in capsys.readouterr().err


def test_a_run_goes_on_from_its_journal(small_space: str, class_store: Store, tmp_path: Path) -> None:
    whole = search(ask(small_space, class_store, tmp_path, searcher="random", name="whole"), QUIET)
    begun = ask(
        small_space, class_store, tmp_path, searcher="random", scheduler="none", name="parts", trials=3
    )

    search(begun, QUIET)
    more = TuneConfig(space="", store="", name="parts", resume=True, runs=begun.runs, trials=More(3))
    resumed = search(more, QUIET)

    assert [r.config for r in searched(resumed)] == [r.config for r in searched(whole)]
    assert len(finished(resumed)) == 6
    assert resumed.study.trials == 6
    judged = [len(record.curve) for record in searched(resumed)]
    assert judged == [1] * 6, "the scheduler of a run is the one that it was begun with: no rungs"
    assert known(resumed)["heads"] == len(resumed.finished_trials()), "chosen anew, since heads were added"
    assert len(ladder(resumed)) == LAYERS + 2, "the ladder is solved once"


@pytest.mark.parametrize(("share", "folds"), [(0.4, 1), pytest.param(0.7, 3, marks=pytest.mark.slow)])
def test_a_search_whose_processes_are_all_killed_ends_as_one_that_was_not(
    share: float, folds: int, small_space: str, class_store: Store, tmp_path: Path
) -> None:
    config = ask(small_space, class_store, tmp_path, folds=folds, **KILLED)
    whole = search(replace(config, name="whole"), QUIET)
    prove_kill(config, whole, round(share * count_lines(whole)))


@pytest.mark.slow
def test_whenever_its_processes_are_killed_a_search_ends_as_one_that_was_not(
    small_space: str, class_store: Store, tmp_path: Path
) -> None:
    config = ask(small_space, class_store, tmp_path, folds=1, **KILLED)
    whole = search(replace(config, name="whole"), QUIET)
    for lines in range(2, count_lines(whole), 2):
        prove_kill(replace(config, name=f"{lines}"), whole, lines)


KILLED: dict[str, Any] = {"searcher": "random", "pack": "2", "scheduler": "asha", "finalists": 2}


def count_lines(run: Run) -> int:
    return run.journal.path.read_bytes().count(b"\n")


def prove_kill(config: TuneConfig, whole: Run, lines: int) -> None:
    """Once its journal has so many lines."""
    named = ("space", "store", "trials", "folds", "name", "runs", *KILLED)
    words = [word for name in named for word in (f"--{name}", str(getattr(config, name)))]
    journal = config.runs / str(config.name) / "journal.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-m", "bv_search.tune", *words, "--quiet"], start_new_session=True
    )
    _wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= lines)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    before = journal.read_bytes()

    run = search(TuneConfig(name=config.name, resume=True, runs=config.runs), QUIET)

    assert journal.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    check_segments(run)
    ended_alike(run, whole)
    assert not list((run.path / "states").iterdir())


@pytest.mark.parametrize("folds", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_the_best_heads_learn_once_more_and_the_mean_of_their_copies_is_the_best(
    small_space: str, span_store: Store, tmp_path: Path, folds: int
) -> None:
    with killing("ray::ScanWorker.finale") as killed:
        run = search(ask(small_space, span_store, tmp_path, folds=folds, finalists=9), QUIET)
    assert killed, "a worker that dies at it costs nothing"

    chosen = [record for record in run.finished_trials() if record.of is None][:9]
    made = {record.id: record for record in run.trials() if record.of}
    names = [record.id for record in chosen if record.rung is None]
    assert set(made) == {f"{name}-{what}" for name in names for what in ("bagged", "single")}
    for name in names:
        bagged, single = made[f"{name}-bagged"], made[f"{name}-single"]
        heads = load_heads(run.trial_folder(bagged.id))
        assert (len(heads), count_all(heads)) == (3, bagged.parameters)
        assert count_all(load_heads(run.trial_folder(single.id))) == single.parameters
        first = load_heads(run.trial_folder(single.id))[0].state_dict()
        assert all(torch.equal(tensor, first[name]) for name, tensor in heads[0].state_dict().items())
    said = to_json(run)
    if chosen[0].rung is None:
        assert said["best"]["trial"] == f"{chosen[0].id}-bagged"
        assert open_model(run.path, member="best").parameters == made[f"{chosen[0].id}-bagged"].parameters
    assert (said["trials"], said["best"]["best_of"]) == (6, 6 + LAYERS + 2)
    assert f"is luck: the best of {6 + LAYERS + 2} heads" in describe(run)


def test_a_search_that_is_killed_in_its_finale_is_resumed(
    small_space: str, class_store: Store, tmp_path: Path
) -> None:
    """Nothing is lost, and nothing done twice: not those that had learned, and none that was searched."""
    config = ask(small_space, class_store, tmp_path, searcher="random", folds=3, finalists=9)
    run = search(config, QUIET)
    lines = run.journal.path.read_text().splitlines(keepends=True)
    (finale,) = [number for number, line in enumerate(lines) if '"event":"encore"' in line]
    whole = [event for event in run.events() if event["event"] == "encore"]
    assert len(whole) >= 2, "all on one line"
    run.journal.path.write_text("".join(lines[:finale]))  # where it was killed
    (run.new_trial_folder(f"{whole[1]['of']}-bagged") / "config.json").write_text("{")

    resumed = search(TuneConfig(name="it", resume=True, runs=config.runs), QUIET)

    again = resumed.journal.path.read_text().splitlines(keepends=True)
    assert (again[:finale], len(again)) == (lines[:finale], len(lines))
    parts = [event for event in resumed.events() if event["event"] == "encore"]
    for ours, theirs in zip(parts, whole, strict=True):
        assert (ours["of"], ours["bagged"]) == (theirs["of"], theirs["bagged"])
    before = resumed.journal.path.read_bytes()
    assert search(TuneConfig(name="it", resume=True, runs=config.runs), QUIET).events() == resumed.events()
    assert resumed.journal.path.read_bytes() == before


def check_segments(run: Run) -> None:
    """Each begins where the one before it ended: nothing is trained twice."""
    for record in run.trials():
        own = [e for e in run.events() if e["event"] == "segment" and e["trial"] == record.id]
        rows = [event["rows"] for event in own]
        assert rows == sorted(set(rows)), "a score that was not reported is reported, not made again"
        checks = [check["position"] for event in own for check in event["checks"]]
        assert checks == sorted(set(checks))


class FromTheFirstSegment(Budget):
    """How long processes take to start is no matter of these tests."""

    def __init__(self, seconds: float | None, **more: Any) -> None:
        super().__init__(None, **more)
        self._seconds = seconds or 0.0

    @property
    def left(self) -> float | None:
        self.end = self.end or time.monotonic() + self._seconds
        return super().left


@pytest.fixture
def prompt_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "Budget", FromTheFirstSegment)


@pytest.mark.usefixtures("prompt_processes")
def test_a_time_budget_ends_a_search_with_what_it_has(class_store: Store, tmp_path: Path) -> None:
    space = tmp_path / "long.yaml"
    space.write_text(
        "space: {head: {kind: adapter, size: 4}, "
        "learning_rate: {uniform: [0.001, 0.01]}, passes: {choice: [1, 200]}}"
    )

    run = search(ask(str(space), class_store, tmp_path, trials=500, pack="4", time_budget=4.0), QUIET)

    assert 0 < len(finished(run)) < 500


@pytest.mark.usefixtures("prompt_processes")
def test_heads_that_a_time_budget_cuts_are_scored_as_they_are(class_store: Store, tmp_path: Path) -> None:
    space = tmp_path / "endless.yaml"
    space.write_text(
        "space: {head: {kind: adapter, size: 4}, learning_rate: {uniform: [0.001, 0.01]}, passes: 9000}"
    )

    config = ask(str(space), class_store, tmp_path, trials=3, searcher="random", scheduler="none")
    run = search(replace(config, time_budget=2.0), QUIET)

    assert [record.status for record in searched(run)] == [STOPPED] * 3
    for record in searched(run):
        assert record.curve == (), "cut on the way to its end"
        assert record.report_score is not None
        assert read_predictions(run.trial_folder(record.id) / "report.parquet").logits


def test_a_warm_start_goes_on_where_others_were(
    small_space: str, class_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However often it is interrupted, and when the others are gone."""
    first = open_study(ask(small_space, class_store, tmp_path))
    source = SEARCHERS["random"](first.space, 7)
    known = [(draws, n / 20) for n in range(12) if (draws := source.ask(str(n))) is not None]
    for number, (draws, score) in enumerate(known):
        about = {"trial": f"{number:04d}", "at": float(number)}
        report = {"score": 0.5}
        first.run.journal.append(
            {"event": "suggest", "config": first.space.config(draws), **about},
            {"event": "finish", "status": DONE, "score": score, "loss": 0.5, "report": report, **about},
        )
    warm = {"searcher": "optuna", "warm_start": (first.run.path,), "generation": 2, "scheduler": "none"}
    config = ask(small_space, class_store, tmp_path, trials=3, name="warm", **warm)

    run = search(config, Progress())

    assert "told of 12 trials of it\n" in capsys.readouterr().err
    shutil.rmtree(first.run.path)
    search(TuneConfig(name="warm", resume=True, runs=config.runs, trials=4), QUIET)
    expected = SEARCHERS["optuna"](first.space, 0)
    expected.remember(known)
    records = searched(run)
    assert [record.id for record in records] == ["0001", "0002", "0003", "0004"]
    for past in read_past(run.events()):
        if past.trial in ("0001", "0002", "0003"):
            expected.adopt(past.trial, first.space.draws(past.config))
            expected.tell(past.trial, past.score)
    assert first.space.config(expected.ask("0004") or {}) == records[3].config


def test_a_search_for_a_front_says_what_stands_on_it(
    small_space: str, class_store: Store, tmp_path: Path
) -> None:
    run = search(ask(small_space, class_store, tmp_path, objective="score,parameters", trials=3), QUIET)
    front = to_json(run)["front"]
    assert [each["trial"] for each in front] == [record.id for record in run.front() or ()]
    assert front[-1]["trial"] == run.finished_trials()[0].id
    assert "the front of score on select against parameters" in describe(run)
    assert {record.status for record in searched(run)} == {DONE}, "none was stopped for its score alone"


def test_heads_above_a_limit_are_not_trained(
    small_space: str, class_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor where a space begins with one."""
    config = ask(small_space, class_store, tmp_path, searcher="random", folds=2, max_parameters=300)
    run = search(config, Progress())
    sizes = [record.parameters for record in finished(run)]
    assert (len(sizes), max(size or 0 for size in sizes) <= 2 * 300) == (6, True), "of each copy"
    assert re.search(r"\d+ proposals had too many parameters, and were drawn again", capsys.readouterr().err)


def test_a_search_that_found_enough_ends_and_says_why(
    small_space: str, class_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ask(small_space, class_store, tmp_path, trials=500, pack="2", searcher="random", patience=3)
    run = search(config, Progress())
    assert "the search ends: 3 trials in a row without a gain; heads are" in capsys.readouterr().err
    assert to_json(run)["ended"] == "3 trials in a row without a gain"
    assert 4 <= len(finished(run)) < 100

    before = run.journal.path.read_bytes()
    again = TuneConfig(name="it", resume=True, runs=config.runs)
    search(again, Progress())
    assert "the search has ended: 3 trials in a row without a gain; another" in capsys.readouterr().err
    assert run.journal.path.read_bytes() == before

    search(replace(again, patience=500, target=-1.0), Progress())
    assert "-1.0" in run.journal.path.read_text()
    assert re.search(
        r"the search has ended: trial \S+ has 0.\d+ on select, and the target is -1;", capsys.readouterr().err
    )


def test_a_search_of_which_every_head_fails_says_why_and_has_its_ladder(
    class_store: Store, tmp_path: Path
) -> None:
    space = tmp_path / "wild.yaml"
    space.write_text("space: {head: {kind: adapter, size: {choice: [2, 4]}}, learning_rate: 1.0e+30}")

    run = search(ask(str(space), class_store, tmp_path, trials=2, searcher="random"), QUIET)

    assert describe(run).count("failed: diverged") == 2
    assert to_json(run)["failed"] == 2
    assert finished(run) == []
    assert {record.id for record in run.finished_trials()} == {record.id for record in ladder(run)}


def test_a_search_of_which_nothing_is_left_says_what_to_do(
    class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor the ladder, whose rungs no worker can solve."""
    space = tmp_path / "wild.yaml"
    space.write_text("space: {head: {kind: adapter, size: {choice: [2, 4]}}, learning_rate: 1.0e+30}")
    monkeypatch.setattr(
        Dispatcher,
        "solve_ladder",
        lambda ours, rungs: [ours.fail(rung.trial, "a bug") for rung in rungs],
    )

    run = search(ask(str(space), class_store, tmp_path, trials=2, searcher="random"), QUIET)

    said = to_json(run)
    assert (said["best"], said["smallest"]) == (None, None)
    with pytest.raises(
        RunError, match=r"found 2 trials begun, 2 failed; bv-search tune --resume \S+ --trials \+N"
    ):
        run.finished_trials()
    assert main(COMMAND, ["--resume", str(run.path), "--quiet"]) == 2


def test_a_run_that_has_ended_is_left_as_it_is(
    small_space: str, class_store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = ask(small_space, class_store, tmp_path, trials=2)
    run = search(config, QUIET)
    before = run.journal.path.read_bytes()
    chosen = (run.path / ENSEMBLE_FILE).read_bytes()
    (run.path / ENSEMBLE_FILE).unlink()  # as a kill at the very end leaves it

    again = search(TuneConfig(name="it", resume=True, runs=config.runs), Progress())

    assert again.journal.path.read_bytes() == before
    assert (again.path / ENSEMBLE_FILE).read_bytes() == chosen
    assert describe(again) == describe(run)
    first, *_ = capfd.readouterr().err.splitlines()
    assert first == "all 2 trials have ended: --trials +N adds some"


def test_a_run_that_has_ended_is_registered_where_mlflow_was_away_at_its_end(
    small_space: str, class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ask(small_space, class_store, tmp_path, trials=2)
    with monkeypatch.context() as away:
        away.setattr(search_module, "_register", lambda *parts: None)
        run = search(config, QUIET)
    client = MlflowMirror(run).tracking.client
    name = f"name='{registered_name(class_store.task)}'"
    assert len(client.search_model_versions(name)) == 0
    for _ in range(2):
        search(TuneConfig(name="it", resume=True, runs=config.runs), QUIET)
        assert len(client.search_model_versions(name)) == 1


@pytest.mark.parametrize(("left", "pack", "said"), [(32, 64, 1), (32, 16, 0), (20, 64, 0)])
@pytest.mark.parametrize("searcher", ["hyperopt", "optuna", "random"])
def test_a_searcher_that_cannot_learn_from_the_first_heads_is_told(
    searcher: str, left: int, pack: int, said: int
) -> None:
    space = parse_space(
        {"space": {"head": {"kind": "pooling"}, "learning_rate": {"choice": [0.1, 0.2]}}}, "it"
    )
    asked = SEARCHERS[searcher](space, 0)
    check = Check(position=48, rows=768, score=0.5, loss=0.5)
    known = [Past(trial=str(n), config={}, found=[(48, check)]) for n in range(10)]

    assert len(list(doubts_of_learning(asked, [], left, pack))) == (0 if searcher == "random" else said)
    assert not list(doubts_of_learning(asked, known, left, pack))


def test_a_store_that_cannot_be_read_costs_no_trial(
    small_space: str, class_store: Store, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    shutil.copytree(class_store.path, place)
    block = place / "train" / "blocks" / "00000.npy"
    whole = block.read_bytes()
    block.write_bytes(whole[:-8] + bytes(8))
    config = ask(small_space, Store.open(str(place), verify=False), tmp_path)

    with pytest.raises(StoreError, match=f"{block.name}.*damaged") as failed:
        search(config, QUIET)
    assert failed.tb is not None, "which keeps all that the search knew, its workers' handles among it"
    _wait_for(lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"])
    block.write_bytes(whole)
    run = search(TuneConfig(name="it", resume=True, runs=config.runs), QUIET)

    assert {record.status for record in run.trials()} <= {DONE, STOPPED}
    assert (len(searched(run)), len(ladder(run))) == (6, LAYERS + 2)


def test_where_mlflow_cannot_be_reached_nothing_is_begun_or_changed(
    small_space: str, class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ask(small_space, class_store, tmp_path, trials=2)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        with pytest.raises(RunError, match=re.escape("127.0.0.1:9")):
            search(config, QUIET)
    assert not (config.runs / "it").exists()
    run = search(config, QUIET)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        with pytest.raises(RunError, match=re.escape("127.0.0.1:9")):
            search(TuneConfig(name="it", resume=True, runs=config.runs, trials=More(8)), QUIET)

    assert Run.open(run.path).study.trials == 2


def test_a_run_that_was_there_is_never_removed(
    small_space: str, class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was broken off before its first trial."""
    config = ask(small_space, class_store, tmp_path)
    begun = open_study(config).run
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")

    with pytest.raises(RunError, match=re.escape("127.0.0.1:9")):
        search(TuneConfig(name="it", resume=True, runs=config.runs), QUIET)

    assert Run.open(begun.path).study == begun.study


def test_heads_train_and_are_scored_on_every_worker(
    small_space: str, class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once: Counter[str] = Counter()
    submit = RayWorkers.submit

    def count(workers: RayWorkers, call: Call) -> None:
        submit(workers, call)
        at_once[call.method] = max(
            at_once[call.method], sum(c.method == call.method for c in workers.running)
        )

    monkeypatch.setattr(RayWorkers, "submit", count)
    run = search(ask(small_space, class_store, tmp_path, workers=2, scheduler="none"), QUIET)

    assert len(finished(run)) == 6
    assert at_once == {"solve": 1, "segment": 2, "final": 2}


def test_a_search_that_waits_for_the_cluster_says_so(
    small_space: str,
    class_store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(workers_module, "PATIENCE_SECONDS", 0.0)
    search(ask(small_space, class_store, tmp_path, trials=1), Progress(quiet=False))
    assert re.search(r"waiting for 1 scan worker\(s\) of [\d.]+ cpus each", capsys.readouterr().err)


def test_a_search_on_rows_that_the_encoder_knows_says_so(
    small_space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_class_store(tmp_path / "known", seen={"train": 200, "select": 7})
    search(ask(small_space, store, tmp_path, trials=1), Progress(quiet=False))
    assert "fine-tuned on 7 of the 48 windows of select" in capsys.readouterr().err


def test_a_name_is_taken_once_and_a_run_keeps_its_trials(
    small_space: str, class_store: Store, tmp_path: Path
) -> None:
    config = ask(small_space, class_store, tmp_path, trials=2)
    search(config, QUIET)

    with pytest.raises(OutputError, match="--resume it"):
        search(config, QUIET)
    with pytest.raises(UserError, match="cannot lose trials"):
        search(TuneConfig(space="", store="", name="it", resume=True, runs=config.runs, trials=1), QUIET)
    with pytest.raises(RunError, match="does not exist"):
        search(TuneConfig(space="", store="", name="nowhere", resume=True, runs=config.runs), QUIET)


def _journal(config: TuneConfig) -> str:
    path = config.runs / "it" / "journal.jsonl"
    return path.read_text() if path.exists() else ""


def _wait_for(condition: Any, seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.001)
