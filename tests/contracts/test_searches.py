"""Whatever is combined, a search ends, and what it leaves is whole.

The normal run takes a covering set, in which every pair of settings meets; the slow one takes all.
"""

import csv
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.run.folder import LEADERBOARD, Run
from bv_search.run.trial import DONE, FAILED, STOPPED, TrialRecord
from bv_search.scan.order import pass_length
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.config import SCHEDULERS, TuneConfig
from bv_search.tune.outcome import to_json
from bv_search.tune.rungs import plan_rungs
from bv_search.tune.search import run as search
from bv_search.tune.searchers import SEARCHERS
from tests.hunter import killing
from tests.stores import make_class_store

DEADLINE_SECONDS = 90  # many times what any takes
WINDOWS = 200
TRIALS = (1, 2, 5, 9)
PACKS = ("1", "2", "4", "auto")
WORKERS = (1, 2)
NOTHING, KILLED, BAD_HEADS = "nothing", "killed", "bad-heads"
WORKS = ("ray::ScanWorker.segment", "ray::ScanWorker.final", "ray::ThinTrial")  # each is killed once
TROUBLES = (NOTHING, KILLED, BAD_HEADS)

SPACE = """
space:
  head:
    choice:
      - {kind: pooling, pooling: {choice: [learned, average]}}
      - {kind: adapter, size: {choice: [4, 8]}, shared: {choice: [true, false]}}
  learning_rate: {choice: [0.01, 0.003]}
  epochs: {choice: [1, 12]}
start:
  - {head: {kind: adapter, size: 8, shared: true}, learning_rate: 0.01, epochs: 12}
"""

HUGE, WILD = 10**12, 1.0e30  # more than any memory holds; more than any number holds
BAD_SPACE = f"""
space:
  head: {{kind: adapter, size: {{choice: [4, {HUGE}]}}, skip: {{choice: [true, false]}}}}
  learning_rate: {{choice: [0.01, 0.003, {WILD:.1e}]}}
  epochs: {{choice: [1, 12]}}
start:
  - {{head: {{kind: adapter, size: {HUGE}, skip: true}}, learning_rate: 0.01, epochs: 12}}
  - {{head: {{kind: adapter, size: 4, skip: true}}, learning_rate: 0.01, epochs: 12}}
  - {{head: {{kind: adapter, size: 4, skip: true}}, learning_rate: {WILD:.1e}, epochs: 12}}
"""


@dataclass(frozen=True)
class Combination:
    searcher: str
    scheduler: str
    trials: int
    pack: str
    workers: int
    trouble: str

    def __str__(self) -> str:
        return "-".join(str(value) for value in astuple(self))


def covering_set() -> Iterator[Combination]:
    """Sixteen rows of an orthogonal array: the lines of the plane over the field of four elements."""
    twice = (0, 2, 3, 1)  # times two in that field, where plus is ^
    for a, b in product(range(4), repeat=2):
        c, d, e = a ^ b, a ^ twice[b], a ^ b ^ twice[b]
        yield Combination(
            searcher=tuple(SEARCHERS)[a],
            trials=TRIALS[b],
            pack=PACKS[c],
            trouble=TROUBLES[d % len(TROUBLES)],
            scheduler=SCHEDULERS[e % 2],
            workers=WORKERS[e // 2],
        )


EVERY = [Combination(*values) for values in product(SEARCHERS, SCHEDULERS, TRIALS, PACKS, WORKERS, TROUBLES)]
COVERING = list(covering_set())


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "classes", windows=WINDOWS)


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
@pytest.mark.parametrize("searcher", SEARCHERS)
def test_every_search_ends_whole(
    searcher: str, scheduler: str, trouble: str, store: Store, tmp_path: Path
) -> None:
    for trials, pack, workers in product(TRIALS, PACKS, WORKERS):
        combination = Combination(searcher, scheduler, trials, pack, workers, trouble)
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
    statuses = {record.status for record in run.trials() if not is_bad(record)}
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
        name=str(combination),
        runs=runs,
    )
    return Run.open(search(config, Progress(quiet=True)).path)


def is_bad(record: TrialRecord) -> bool:
    return bool(record.config["head"].get("size") == HUGE or record.config["learning_rate"] == WILD)


def check_whole(run: Run, trials: int) -> None:
    records = run.trials()
    assert [record.id for record in records] == [f"{n:04d}" for n in range(1, trials + 1)]
    start = run.study.space["start"][:trials]
    assert [record.config for record in records[: len(start)]] == start, "starting points come first"
    check_journal(run, records)
    for record in records:
        check_trial(run, record)
    with (run.path / LEADERBOARD).open() as file:
        assert sorted(row["trial"] for row in csv.DictReader(file)) == [record.id for record in records]
    assert not list(run.path.glob("states/*")), "states of finished heads are gone"
    if any(record.answers for record in records):
        assert to_json(run)["failed"] == sum(is_bad(record) for record in records)


def check_journal(run: Run, records: list[TrialRecord]) -> None:
    """Each trial begins once, ends once, and between them goes only forward."""
    events = run.events()
    for word in ("suggest", "finish"):
        assert Counter(e["trial"] for e in events if e["event"] == word) == {r.id: 1 for r in records}
    assert Counter(e["trial"] for e in events if e["event"] == "halt") == {
        r.id: 1 for r in records if r.status != FAILED
    }
    assert [event["event"] for event in events].index("end") == len(events) - 1
    for record in records:
        rows = [rung.rows for rung in record.rungs]
        assert rows == sorted(set(rows)), f"trial {record.id} trained a segment twice"


def check_trial(run: Run, record: TrialRecord) -> None:
    files = sorted(path.name for path in run.trial_folder(record.id).glob("*"))
    if is_bad(record):
        reason = "allocate" if record.config["head"]["size"] == HUGE else "not finite"
        assert (record.status, files) == (FAILED, [])
        assert reason in (record.reason or "")
        return
    assert record.status in {DONE, STOPPED}, record.reason
    assert record.answers
    assert files == ["config.json", "model.safetensors", "report.parquet", "select.parquet"]
    assert record.rows == (record.config["epochs"] * WINDOWS if record.status == DONE else rung_rows())


def rung_rows() -> int:
    """Where the scheduler compares the heads of twelve epochs."""
    longest = TrialConfig.from_json({"head": {"kind": "pooling"}, "epochs": 12})
    (rung,) = plan_rungs([longest], WINDOWS, halving=True).positions
    passes, rest = divmod(rung, pass_length(WINDOWS))
    assert rest == 0, "no part of a pass, or rows were harder to count"
    return passes * WINDOWS


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
