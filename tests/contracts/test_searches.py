"""Whatever is combined, a search ends, and what it leaves is whole.

The normal run takes a covering set, in which every pair of settings meets; the slow one takes all.
"""

import csv
import json
import signal
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.run.folder import LEADERBOARD, Run
from bv_search.run.trial import BAGGED, DONE, FAILED, SINGLE, STOPPED, TrialRecord
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.config import SCHEDULERS, TuneConfig
from bv_search.tune.packing import plan_rungs
from bv_search.tune.search import run as search
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.summary import to_json
from tests.hunter import killing
from tests.stores import LAYERS, make_class_store

DEADLINE_SECONDS = 300  # many times what any takes
PASSES = {1: (200, 13), 3: (248, 16)}  # by folds, windows of a pass and its micro-batches
LADDER = {"majority", *(f"probe-{channel}" for channel in range(LAYERS)), "probe-all"}
TRIALS = (1, 2, 5, 9)
PACKS = ("1", "2", "4", "auto")
WORKERS = (1, 2)
FOLDS = (1, 3)
NOTHING, KILLED, BAD_HEADS = "nothing", "killed", "bad-heads"
WORKS = tuple(f"ray::ScanWorker.{work}" for work in ("solve", "segment", "final"))
TROUBLES = (NOTHING, KILLED, BAD_HEADS)

SPACE = """
space:
  head:
    choice:
      - {kind: pooling, pooling: {choice: [learned, average]}}
      - {kind: adapter, size: {choice: [4, 8]}, shared: {choice: [true, false]}}
  learning_rate: {choice: [0.01, 0.003]}
  passes: {choice: [1, 12, auto]}
start:
  - {head: {kind: adapter, size: 8, shared: true}, learning_rate: 0.01, passes: 12}
  - {head: {kind: adapter, size: 8, shared: true}, learning_rate: 0.01, passes: auto}
"""

HUGE, WILD = 10**12, 1.0e30  # more than any memory holds; more than any number holds
BAD_SPACE = f"""
space:
  head: {{kind: adapter, size: {{choice: [4, {HUGE}]}}, skip: {{choice: [true, false]}}}}
  learning_rate: {{choice: [0.01, 0.003, {WILD:.1e}]}}
  passes: {{choice: [1, 12, auto]}}
start:
  - {{head: {{kind: adapter, size: {HUGE}, skip: true}}, learning_rate: 0.01, passes: 12}}
  - {{head: {{kind: adapter, size: 4, skip: true}}, learning_rate: 0.01, passes: 12}}
  - {{head: {{kind: adapter, size: 4, skip: true}}, learning_rate: {WILD:.1e}, passes: 12}}
"""


@dataclass(frozen=True)
class Combination:
    searcher: str
    scheduler: str
    trials: int
    pack: str
    workers: int
    folds: int
    trouble: str

    def __str__(self) -> str:
        return "-".join(str(value) for value in astuple(self))


ASKED = tuple(name for name in SEARCHERS if name != "optuna-gp")  # optuna's but for its sampler


def covering_set() -> Iterator[Combination]:
    """Sixteen rows of an orthogonal array: the lines of the plane over the field of four elements."""
    twice = (0, 2, 3, 1)  # times two in that field, where plus is ^
    for a, b in product(range(4), repeat=2):
        c, d, e = a ^ b, a ^ twice[b], a ^ b ^ twice[b]
        yield Combination(
            searcher=ASKED[a],
            trials=TRIALS[b],
            pack=PACKS[c],
            trouble=TROUBLES[d % len(TROUBLES)],
            scheduler=SCHEDULERS[e % 2],
            workers=WORKERS[e // 2],
            folds=FOLDS[e % 2 ^ e // 2],
        )


SETTINGS = (ASKED, SCHEDULERS, TRIALS, PACKS, WORKERS, FOLDS, TROUBLES)
EVERY = [Combination(*values) for values in product(*SETTINGS)]
COVERING = list(covering_set())


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "classes")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_every_pair_of_settings_meets_in_the_covering_set() -> None:
    def pairs(rows: list[Combination]) -> set[Any]:
        return {pair for row in rows for pair in combinations(enumerate(astuple(row)), 2)}

    assert pairs(COVERING) == pairs(EVERY)


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("combination", COVERING, ids=str)
def test_any_search_ends_whole(combination: Combination, store: Store, runs: Path) -> None:
    prove(combination, store, runs)


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("searcher", ASKED)
def test_every_search_ends_whole(
    searcher: str, scheduler: str, trouble: str, store: Store, tmp_path: Path
) -> None:
    for trials, pack, workers, folds in product(TRIALS, PACKS, WORKERS, FOLDS):
        combination = Combination(searcher, scheduler, trials, pack, workers, folds, trouble)
        try:
            prove(combination, store, tmp_path)
        except BaseException as error:
            error.add_note(f"by {combination}")
            raise


def prove(combination: Combination, store: Store, runs: Path) -> None:
    victims = WORKS if combination.trouble == KILLED else ()

    with within(DEADLINE_SECONDS), killing(*victims) as killed:
        run = do_search(combination, store, runs)

    assert sorted(killed) == sorted(victims)
    check_whole(run, combination.trials)
    statuses = {record.status for record in searched(run) if not is_bad(record)}
    assert statuses <= ({DONE, STOPPED} if combination.scheduler == "asha" else {DONE})


def do_search(combination: Combination, store: Store, runs: Path) -> Run:
    space = runs / f"{combination}.yaml"
    space.write_text(BAD_SPACE if combination.trouble == BAD_HEADS else SPACE)
    config = TuneConfig(
        space=str(space),
        store=store.path,
        searcher=combination.searcher,
        scheduler=combination.scheduler,
        trials=combination.trials,
        pack=combination.pack,
        workers=combination.workers,
        folds=combination.folds,
        name=str(combination),
        runs=runs,
    )
    return Run.open(search(config, Progress(quiet=True)).path)


def searched(run: Run) -> list[TrialRecord]:
    return [record for record in run.trials() if record.is_searched]


def is_bad(record: TrialRecord) -> bool:
    return bool(record.config["head"].get("size") == HUGE or record.config.get("learning_rate") == WILD)


def check_whole(run: Run, trials: int) -> None:
    records, own = [record for record in run.trials() if record.of is None], searched(run)
    assert [record.id for record in own] == [f"{n:04d}" for n in range(1, trials + 1)]
    start = run.study.space["start"][:trials]
    assert [record.config for record in own[: len(start)]] == start, "starting points come first"
    assert {record.id for record in records} - {record.id for record in own} == LADDER
    check_journal(run, records)
    for record in records:
        check_trial(run, record)
    made = check_finale(run)
    with (run.path / LEADERBOARD).open() as file:
        assert {row["trial"] for row in csv.DictReader(file)} == {record.id for record in records} | made
    assert not list(run.path.glob("states/*")), "states of finished heads are gone"
    if any(record.answers for record in records):
        assert to_json(run)["failed"] == sum(is_bad(record) for record in records)


def check_finale(run: Run) -> set[str]:
    """The best few have learned once more, each once; a rung among them stands as it is."""
    ranked = [record for record in run.finished_trials() if record.of is None]
    chosen = [record.id for record in ranked[: run.study.finalists] if record.rung is None]
    assert Counter(e["of"] for e in run.events() if e["event"] == "encore") == dict.fromkeys(chosen, 1)
    made = [record for record in run.trials() if record.of is not None]
    assert {(record.of, record.made) for record in made} == set(product(chosen, (BAGGED, SINGLE)))
    for record in made:
        assert record.answers, record.reason
        copies = json.loads((run.trial_folder(record.id) / "config.json").read_text())["copies"]
        assert copies == (run.study.seeds if record.made == BAGGED else 1)
        for file in ["select.parquet", "train.parquet"][: run.study.folds]:
            ours, theirs = (run.trial_folder(str(t)) / file for t in (record.id, record.of))
            assert ours.read_bytes() == theirs.read_bytes(), "what it says of rows it knows is no evidence"
    return {record.id for record in made}


def check_journal(run: Run, records: list[TrialRecord]) -> None:
    """Each trial begins once, ends once, and between them goes only forward."""
    events = run.events()
    windows, length = PASSES[run.study.folds]
    for word in ("suggest", "finish"):
        assert Counter(e["trial"] for e in events if e["event"] == word) == {r.id: 1 for r in records}
    assert Counter(e["trial"] for e in events if e["event"] == "halt") == {
        r.id: 1 for r in records if r.status != FAILED and r.rung is None
    }
    assert [event["event"] for event in events].index("end") == len(events) - 1
    for record in records:
        segments = [e for e in events if e["event"] == "segment" and e["trial"] == record.id]
        rows = [segment["rows"] for segment in segments]
        assert rows == sorted(set(rows)), f"trial {record.id} trained a segment twice"
        checks = [check["position"] for segment in segments for check in segment["checks"]]
        assert checks == [length * n for n in range(1, len(checks) + 1)], "once after each pass"
        assert len(checks) == (rows[-1] // windows if rows and is_open(record) else 0)


def check_trial(run: Run, record: TrialRecord) -> None:
    files = sorted(path.name for path in run.trial_folder(record.id).glob("*"))
    if is_bad(record):
        reason = "allocate" if record.config["head"]["size"] == HUGE else "not finite"
        assert (record.status, files) == (FAILED, [])
        assert reason in (record.reason or "")
        return
    assert record.status in {DONE, STOPPED}, record.reason
    assert record.answers
    of_train = ["train.parquet"] if run.study.folds > 1 else []
    assert files == ["config.json", "model.safetensors", "report.parquet", "select.parquet", *of_train]
    passes, rest = divmod(record.rows, PASSES[run.study.folds][0])
    assert rest == 0
    assert passes in allowed_passes(record, run.study.folds)


def is_open(record: TrialRecord) -> bool:
    return record.rung is None and record.config["passes"] == "auto"


def allowed_passes(record: TrialRecord, folds: int) -> Collection[int]:
    """Where a trial may end: at its end, if it has one, or where the scheduler compares it with others."""
    if record.rung is not None:
        return {0}
    config = TrialConfig.from_json(record.config)
    windows, length = PASSES[folds]
    rungs = plan_rungs([config], windows, halving=True, one_token=True)
    if record.status == STOPPED:
        return {rung // length for rung in rungs.of(config)}
    last = rungs.course(config).passes
    return range(2, last + 1) if is_open(record) else {last}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what does not end."""

    def give_up(*_: Any) -> None:
        raise AssertionError(f"no end after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
