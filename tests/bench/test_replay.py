"""Searches are replayed on tables as they would have gone."""

from pathlib import Path

import pytest

from bv_search.bench.replay import Replay
from bv_search.bench.table import Table, read_table
from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.resume import read_past
from bv_search.tune.search import run
from bv_search.tune.searchers import SEARCHERS


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
