"""Searches are replayed on tables as they would have gone, and compared with chance."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.contest import DEFAULT, Contest
from bv_search.bench.regret import Way, full_head, regrets, scale_of, search
from bv_search.bench.replay import Replay
from bv_search.bench.table import Table, read_table
from bv_search.command import Progress, main
from bv_search.errors import DataError
from bv_search.run.folder import Run
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.resume import read_past
from bv_search.tune.search import run
from bv_search.tune.searchers import SEARCHERS
from tests.bench.synthetic import PASSES, WINDOWS, make_table
from tests.stores import make_class_store

GRID = """
space:
  head: {choice: [{kind: linear}, {kind: adapter, size: {choice: [4, 8]}}]}
  learning_rate: {choice: [1.0e-3, 1.0e-2, 3.0e-2]}
  patience: 2
"""


@pytest.fixture(scope="module")
def table() -> Table:
    return make_table()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "store")


@pytest.fixture(scope="module")
def trained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that the command made."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "grid.yaml").write_text(GRID)
    place = folder / "small.parquet"
    options = [
        "--store",
        store.path,
        "--space",
        str(folder / "grid.yaml"),
        "--table",
        str(place),
        "--heads",
        "4",
    ]
    assert main(COMMAND, ["search", *options, "--quiet"]) == 0
    return place


def regret_of(table: Table, way: Way, *, heads: int, seeds: int = 12) -> np.ndarray:
    """On select, once the rows are read, for every seed."""
    runs = [search(table, way, seed, heads) for seed in range(seeds)]
    return np.array([regrets(table, "select", moments, "rows", [heads])[0] for moments in runs])


def way(searcher: str, scheduler: str = "none", generation: int = 4) -> Way:
    return Way(searcher=searcher, scheduler=scheduler, generation=generation)


@pytest.mark.parametrize("searcher", ["hyperopt", "optuna"])
def test_a_searcher_that_learns_regrets_less_than_chance(table: Table, searcher: str) -> None:
    learned, chance = (regret_of(table, way(each), heads=48, seeds=8) for each in (searcher, "random"))
    assert learned.mean() < 0.8 * chance.mean()


def test_a_shuffled_table_has_the_same_heads_at_other_points(table: Table) -> None:
    shuffled = table.shuffled(3)
    assert shuffled.learned.keys() == table.learned.keys()
    assert {id(each) for each in shuffled.learned.values()} == {id(each) for each in table.learned.values()}
    moved = [key for key, each in shuffled.learned.items() if each is not table.learned[key]]
    assert len(moved) > 0.9 * len(table.learned)


def test_halving_finds_as_much_for_fewer_rows(table: Table) -> None:
    halved = regret_of(table, way("random", "asha", 16), heads=8)
    assert halved.mean() < 0.8 * regret_of(table, way("random"), heads=8).mean()


def test_rows_of_a_search_at_full_length_are_those_of_its_heads(table: Table) -> None:
    moments = search(table, way("random", generation=8), 0, 16)
    assert [moment.rows for moment in moments] == [PASSES * WINDOWS * n for n in range(1, 17)]
    assert [moment.trials for moment in moments] == list(range(1, 17))
    assert full_head(table) == PASSES * WINDOWS


def test_a_pack_takes_as_long_as_the_heads_that_are_left_in_it(table: Table) -> None:
    assert table.seconds([40_000]) == pytest.approx(1.0)
    assert table.seconds([30_000] * 4) == pytest.approx(1.0)
    assert table.seconds([15_000, 15_000, 15_000, 55_000]) == pytest.approx(0.5 + 1.0)


def test_a_generation_is_drawn_before_any_of_it_is_told_and_told_before_the_next(table: Table) -> None:
    replayed = SEARCHERS["hyperopt"](table.space, 0)
    moments = Replay(table, table.rungs(halving=False), replayed, 6).run()
    told = SEARCHERS["hyperopt"](table.space, 0)
    for begin in range(1, 25, 6):
        numbers = [f"{number:04d}" for number in range(begin, begin + 6)]
        points = {number: told.ask(number) for number in numbers}
        for number, draws in points.items():
            assert draws is not None
            next(moments)
            told.tell(number, table.of(table.space.config(draws)).end.score)
    assert replayed.told == told.told


def test_regret_is_zero_for_the_best_and_one_for_the_median(table: Table) -> None:
    scale = scale_of(table, "report")
    values = sorted(each.report for each in table.learned.values() if each.report is not None)
    assert scale.regret(values[-1]) == 0.0
    assert scale.regret(float(np.median(values))) == pytest.approx(1.0)


def test_a_table_that_tells_no_heads_apart_is_refused(table: Table) -> None:
    same = {key: replace(each, report=0.5) for key, each in table.learned.items()}
    with pytest.raises(DataError, match="tells no heads apart on report"):
        scale_of(replace(table, learned=same), "report")


def test_what_is_needed_is_where_the_regret_stays_small() -> None:
    falls = way("random")
    curve = np.array([[0.5, 0.04, 0.2, 0.05, 0.0]] * 2)
    contest = Contest(regrets={falls: {("select", "rows"): curve}})
    assert contest.needed(falls) == 4
    worse = way("hyperopt")
    two = Contest(
        regrets={
            falls: {("select", "rows"): np.full((4, 8), 0.1)},
            worse: {("select", "rows"): np.full((4, 8), 0.1) + np.array([[0.2], [0.1], [0.2], [0.1]])},
        }
    )
    assert two.worse(worse, falls) == [4, 8]
    assert two.worse(falls, worse) == []
    assert two.needed(worse) is None


def test_a_table_is_whole_and_is_not_trained_again(
    trained: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    table, before = read_table(trained), trained.stat().st_mtime_ns
    assert len(table.learned) == 9
    assert table.missing == []
    for learned in table.learned.values():
        places = [check.position for check in learned.found]
        assert places == sorted(set(places))
        ranks = [check.rank for check in learned.found]
        assert ranks == sorted(ranks), "its worth is the best until there"
    options = ["--store", store.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(trained)]
    assert main(COMMAND, ["search", *options, "--quiet"]) == 0
    assert trained.stat().st_mtime_ns == before


def test_an_interrupted_table_goes_on(trained: Path, store: Store, tmp_path: Path) -> None:
    whole, place = read_table(trained), tmp_path / "part.parquet"
    kept = dict(list(whole.learned.items())[:4])
    replace(whole, learned=kept).write(place)
    options = ["--store", store.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(place)]
    assert main(COMMAND, ["search", *options, "--quiet"]) == 0
    again = read_table(place)
    assert {key: each.found[-1].position for key, each in again.learned.items()} == {
        key: each.found[-1].position for key, each in whole.learned.items()
    }
    assert {key: again.learned[key] for key in kept} == kept


def test_a_table_of_another_store_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_class_store(tmp_path / "other", seed=1)
    options = ["--store", other.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(trained)]
    assert main(COMMAND, ["search", *options]) == 2
    assert "has another store" in capsys.readouterr().err


def test_a_replay_is_the_search_that_tune_would_have_made(
    trained: Path, store: Store, tmp_path: Path
) -> None:
    """Trial by trial the same points, told the same scores."""
    space, table = str(trained.with_name("grid.yaml")), read_table(trained)
    config = TuneConfig(
        space=space,
        store=store.path,
        searcher="hyperopt",
        scheduler="asha",
        generation=4,
        trials=16,
        pack="32",
        folds=1,
        finalists=0,
        runs=tmp_path,
    )
    past = [
        each
        for each in read_past(Run.open(run(config, Progress(quiet=True)).path).events())
        if each.rung is None
    ]
    replayed = SEARCHERS["hyperopt"](table.space, 0)
    moments = Replay(table, table.rungs(halving=True), replayed, 4).run()
    while len(replayed.told) < 16:
        next(moments)
    told = {number: score for number, (_, score) in replayed.told.items()}
    for each in past:
        number = int(each.trial)
        if number in told:
            assert table.space.config(replayed.told[number][0]) == each.config
            assert told[number] == pytest.approx(each.score)


def test_the_command_says_what_the_defaults_are_worth(
    tmp_path: Path, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    place, plot = tmp_path / "made.parquet", tmp_path / "plot.svg"
    table.write(place)
    options = ["--table", str(place), "--seeds", "2", "--budget", "8", "--plot", str(plot)]
    few = ["--searchers", "random", "hyperopt", "--generations", "4"]
    assert main(COMMAND, ["search", *options, *few, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["default"] == str(DEFAULT)
    found = said["tables"]["made"]["ways"]["hyperopt, none, 4"]
    assert len(found["select"]["rows"]) == len(found["report"]["seconds"]) == 8
    assert plot.read_text().startswith("<svg")
